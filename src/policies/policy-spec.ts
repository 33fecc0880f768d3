import { z } from 'zod';
import { linear } from './linear-policy.ts';
import { live } from './live-policy.ts';
import { openai } from './openai/openai-entry.ts';
import { planner } from './planner-policy.ts';
import type { Policy } from './policy.ts';
import { type PolicyEntry, type PolicySecrets, PolicySpecError } from './policy-entry.ts';
import { random } from './random-policy.ts';

/** The policies that a plan may name. */
const ENTRIES = [random, planner, linear, live, openai] as const;
const KINDS = ENTRIES.map(({ kind }) => kind).join(', ');

type SpecOf<Entry> =
  Entry extends PolicyEntry<infer Kind, infer Options>
    ? z.output<z.ZodObject<Options['shape'] & { kind: z.ZodLiteral<Kind> }>>
    : never;
/** What makes a policy, as configuration. It is recorded with the run and holds no secret. */
export type PolicySpec = SpecOf<(typeof ENTRIES)[number]>;
const [first, ...others] = ENTRIES.map(({ spec }) => spec);
const policySpec = z.discriminatedUnion('kind', [first as NonNullable<typeof first>, ...others], {
  error: (issue) => (issue.code === 'invalid_union' ? `must be one of ${KINDS}` : undefined),
});

/**
 * Makes the policy that a configuration names. Who calls it closes it.
 * @param secrets.apiKey for the model server; apart from the configuration because that one is recorded with the run.
 * @throws PolicySpecError when the configuration cannot be followed: no such weights file, weights of another feature revision,
 * ….
 */
export async function createPolicy(spec: PolicySpec, secrets: PolicySecrets = {}): Promise<Policy> {
  // the entry of its kind, and so of its type
  const entry = ENTRIES.find(({ kind }) => kind === spec.kind) as unknown as PolicyEntry;
  return entry.open(spec, secrets);
}

/** Checks a policy's configuration. @throws PolicySpecError. */
export function parsePolicySpec(value: unknown): PolicySpec {
  const parsed = policySpec.safeParse(value);
  if (parsed.success) return parsed.data as PolicySpec; // the union of the same entries, whose types the list forgets
  const issue = parsed.error.issues[0];
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknownKey !== undefined)
    throw new PolicySpecError(unknownKey, 'is not a field of this kind of policy; remove it or correct its name');
  throw new PolicySpecError(issue?.path.join('.') || 'configuration', issue?.message ?? 'does not fit');
}

export const POLICY_FORMS = `${ENTRIES.flatMap(({ forms }) => forms).join(', ')}, or a JSON object with all the fields of one`;

/**
 * Reads the short form of the command line, such as `planner:0.2` or `openai:qwen@http://127.0.0.1:8000/v1`. @throws
 * PolicySpecError.
 */
export function parsePolicyText(text: string): PolicySpec {
  if (text.trimStart().startsWith('{')) return parsePolicySpec(parseObject(text));
  const [, kind, rest] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  const entry = ENTRIES.find((each) => each.kind === kind);
  if (!entry) throw new PolicySpecError('kind', `${JSON.stringify(text.slice(0, 80))} is unknown; write ${POLICY_FORMS}`);
  return parsePolicySpec({ kind, ...entry.read(rest) });
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PolicySpecError('configuration', `is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
