import { z } from 'zod';
import { readInstant, TIME_FORM } from '../../../projections/as-of/instant.ts';
import {
  everyTrajectory,
  OUTCOMES,
  type PolicyFilter,
  type TrajectoryQuery,
} from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from '../dataset-error.ts';

/** The filters as given on a command line: one text each, alternatives separated by commas. */
export type QueryTexts = { readonly [Name in keyof TrajectoryQuery]?: string | undefined };

/** The filters by the options of a command and the parameters of a request that give them. */
const CHOICES = {
  run: 'runs',
  environment: 'environments',
  task: 'tasks',
  split: 'splits',
  outcome: 'outcomes',
  success: 'success',
  label: 'labels',
  withoutLabel: 'withoutLabels',
  unclear: 'unclear',
  returnMin: 'returnMin',
  returnMax: 'returnMax',
  policy: 'policies',
  from: 'finishedFrom',
  before: 'finishedBefore',
} as const satisfies Readonly<Record<string, keyof TrajectoryQuery>>;
type Choice = keyof typeof CHOICES;

/** The filters as options of a command and parameters of a request name them. */
export type QueryChoices = { readonly [Name in Choice]?: string | undefined };

const list = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) => [...new Set(text.split(',').map((part) => part.trim()))].sort())
    .pipe(z.array(item).min(1));
const word = z.string().min(1, 'must not be empty');
/** A number as text, in any form that JavaScript or Python writes. */
export const number = z
  .string()
  .regex(/^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i, 'must be a number')
  .transform(Number)
  .refine(Number.isFinite, 'must be a number below 1.8e308');
const instant = z.string().transform((text, context) => {
  const read = readInstant(text);
  if (read.kind === 'instant') return read.time.toISOString();
  context.addIssue(read.kind === 'no-day' ? `must be a day of the calendar, which ${read.day} is not` : `must be ${TIME_FORM}`);
  return z.NEVER;
});
const policy = z.string().transform((text, context) => {
  const read = parsePolicyFilter(text);
  if (read) return read;
  context.addIssue(`must be ${POLICY_FORM}`);
  return z.NEVER;
});

const texts = z.strictObject({
  runs: list(z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be run ids (UUIDs in lower case)')).optional(),
  environments: list(word).optional(),
  tasks: list(word).optional(),
  splits: list(word).optional(),
  outcomes: z
    .string()
    .transform((text) => [...new Set(text.split(',').map((part) => part.trim()))].sort())
    .pipe(z.array(z.enum(OUTCOMES)).min(1))
    .optional(),
  success: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  returnMin: number.optional(),
  returnMax: number.optional(),
  policies: z
    .string()
    .transform((text) => [...new Set(text.split(',').map((part) => part.trim()))].sort())
    .pipe(z.array(policy).min(1))
    .optional(),
  finishedFrom: instant.optional(),
  finishedBefore: instant.optional(),
  labels: list(word).optional(),
  withoutLabels: list(word).optional(),
  unclear: z.enum(['keep', 'drop']).optional(),
});

/**
 * Reads filters given as texts. Equal filters give equal queries whatever their order. @throws DatasetError `invalid-query`
 * naming the filter.
 */
export function parseTrajectoryQuery(given: QueryTexts): TrajectoryQuery {
  const parsed = texts.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const filter = String(issue?.path[0] ?? (issue?.code === 'unrecognized_keys' ? issue.keys[0] : ''));
    const text = given[filter as keyof QueryTexts]; // undefined for an unknown filter, which the message then names alone
    throw new DatasetError(
      'invalid-query',
      `filter ${filter}${text === undefined ? '' : ` = ${JSON.stringify(text)}`}: ${issue?.message}`,
    );
  }
  const entries = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return { ...everyTrajectory, ...Object.fromEntries(entries) };
}

/** Reads filters by the names of options. @throws DatasetError `invalid-query` naming the filter. */
export function parseChoices(given: QueryChoices): TrajectoryQuery {
  const filters = Object.entries(CHOICES).map(([choice, filter]) => [filter, given[choice as Choice]]); // its own keys
  return parseTrajectoryQuery(Object.fromEntries(filters));
}

/** Words a query for messages: `environments = textcraft, success = true`; all trajectories when nothing is filtered. */
export function describeQuery(query: TrajectoryQuery): string {
  const said = Object.entries(query)
    .filter(([, value]) => value !== null)
    // lists of texts and policies
    .map(([name, value]) => `${name} = ${Array.isArray(value) ? value.map(sayItem).join('|') : String(value)}`);
  return said.length === 0 ? 'no filter' : said.join(', ');
}

function sayItem(item: string | PolicyFilter): string {
  return typeof item === 'object' ? policyFilterText(item) : item;
}

const VERSION = /@(\d+)$/;
const LAST_VERSION = 2_147_483_647; // as events hold it

/** How a policy is to be written. */
const POLICY_FORM =
  'a policy, or a policy and its version: linear@3; an id that itself ends in @ and digits is followed by one more @: model@2@';

/**
 * Reads a policy as a filter names it. An id may hold any character: what follows its last `@` is a version when it is digits,
 * and nothing at all when it is empty. Undefined for a text that names none.
 */
export function parsePolicyFilter(text: string): PolicyFilter | undefined {
  const version = VERSION.exec(text)?.[1];
  const end = version === undefined ? (text.endsWith('@') ? 1 : 0) : version.length + 1;
  const policyId = text.slice(0, text.length - end);
  if (policyId === '' || Number(version ?? 0) > LAST_VERSION) return undefined;
  return { policyId, version: version === undefined ? null : Number(version) };
}

/** Writes a filter in the form that `parsePolicyFilter` reads. */
export function policyFilterText({ policyId, version }: PolicyFilter): string {
  if (version !== null) return `${policyId}@${version}`;
  return VERSION.test(policyId) || policyId.endsWith('@') ? `${policyId}@` : policyId;
}
