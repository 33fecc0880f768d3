import { z } from 'zod';
import { isUuid } from '../../../domain/ids.ts';
import { readInstant, TIME_FORM } from '../../../projections/as-of/instant.ts';
import { DatasetError } from '../dataset-error.ts';

/**
 * What a reader of an AgentTraj file cannot know of it and the file does not say. Part of the run's identity where it shapes the
 * events.
 */
export interface AgentTrajOptions {
  /** The run to import into; null derives one from the file's content and these options. */
  readonly runId: string | null;
  /** The environment of every item; null reads it from `item_id`. */
  readonly environment: string | null;
  /** Names the server that numbered the tasks: tasks of different fingerprints are different tasks. */
  readonly serverFingerprint: string;
  readonly split: string | null;
  readonly policy: { readonly policyId: string; readonly version: number };
  /**
   * What a full reward is in the file (100 for SciWorld's scores): the value recorded is the file's divided by it, the raw one is
   * kept.
   */
  readonly rewardScale: number;
  /**
   * When the episodes happened, if it is known. The files do not say, and a clock here would make two imports of one file differ,
   * so the default is the beginning of time as computers count it: visibly no date.
   */
  readonly recordedAt: string;
}

export const agentTrajDefaults: AgentTrajOptions = {
  runId: null,
  environment: null,
  serverFingerprint: 'unrecorded',
  split: null,
  policy: { policyId: 'agent-traj', version: 0 },
  rewardScale: 1,
  recordedAt: '1970-01-01T00:00:00.000Z',
};

/** The options as given on a command line; what is left out keeps its default. */
export type AgentTrajTexts = { readonly [Name in keyof AgentTrajOptions]?: string | undefined };

const word = z.string().min(1, 'must not be empty').max(200, 'has at most 200 characters');
const texts = z.strictObject({
  runId: z.string().refine(isUuid, 'must be a UUID in lower case').optional(),
  environment: word.optional(),
  serverFingerprint: word.optional(),
  split: word.optional(),
  policy: z
    .string()
    .regex(/^[^@]{1,200}(@\d{1,9})?$/, 'must be a policy, or a policy and its version: expert@3')
    .transform((text) => {
      const [policyId = '', version = '0'] = text.split('@');
      return { policyId, version: Number(version) };
    })
    .optional(),
  rewardScale: z
    .string()
    .regex(/^(\d{1,15}\.?\d*|\.\d+)$/, 'must be a number above 0')
    .transform(Number)
    .refine((scale) => scale > 0, 'must be a number above 0')
    .optional(),
  recordedAt: z
    .string()
    .transform((text, context) => {
      const read = readInstant(text);
      if (read.kind === 'instant' && read.time.getTime() >= 0) return read.time.toISOString();
      context.addIssue(`must be ${TIME_FORM}, a day of the calendar from 1970 on`);
      return z.NEVER;
    })
    .optional(),
});

/** Reads options given as texts. @throws DatasetError `invalid-query` that names the option. */
export function parseAgentTrajOptions(given: AgentTrajTexts): AgentTrajOptions {
  const parsed = texts.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new DatasetError('invalid-query', `option ${issue?.path.map(String).join('.')}: ${issue?.message}`);
  }
  return { ...agentTrajDefaults, ...Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined)) };
}
