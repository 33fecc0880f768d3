import { z } from 'zod';

const probability = z.number().min(0, 'must be a probability from 0 to 1').max(1, 'must be a probability from 0 to 1');
const filled = z.string().min(1, 'must not be empty');

/**
 * What makes a policy, as configuration: it is recorded with the run, so it holds no secret (the API key is an argument of
 * `createPolicy`) and every field that changes what the policy does.
 */
export const policySpec = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('random') }),
    z.strictObject({ kind: z.literal('planner'), epsilon: probability.default(0) }),
    z.strictObject({
      kind: z.literal('linear'),
      /** A file written by a trainer; without it the policy starts from zero weights, which is the uniform policy. */
      weightsFile: filled.optional(),
      policyId: filled.max(200).optional(),
      /** In place of the temperature of the run. */
      temperature: z.number().min(0, 'must be a number from 0').optional(),
    }),
    /** The newest version of a policy that is being trained, from act to act. */
    z.strictObject({
      kind: z.literal('live'),
      policyId: filled.max(200),
      temperature: z.number().min(0, 'must be a number from 0').optional(),
    }),
    z.strictObject({
      kind: z.literal('openai'),
      baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http or https address such as http://127.0.0.1:8000/v1' }),
      model: filled,
      policyId: filled.max(200).optional(),
      policyVersion: z.int().min(0).optional(),
      topP: z.number().gt(0).max(1).optional(),
      maxTokens: z.int().min(1).optional(),
      stop: z.array(filled).max(16).optional(),
      tokenIds: z.enum(['ask', 'none']).optional(),
      /** Sends `admissible_actions` and `goal`, for a server that chooses among actions (workers/policy.ts). */
      actions: z.enum(['send', 'none']).optional(),
      systemRole: z.enum(['system', 'merged']).optional(),
      maxPromptTokens: z.int().min(1).optional(),
      // fetch itself gives up on a server that has sent nothing for 300 s, so a longer limit would not be kept.
      timeoutMs: z.int().min(1).max(300_000).optional(),
      attempts: z.int().min(1).max(100).optional(),
    }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'must be one of random, planner, linear, live, openai' : undefined) },
);
export type PolicySpec = z.infer<typeof policySpec>;

/** A configuration that makes no policy: which field, what is wrong with it, what to write instead. */
export class PolicySpecError extends Error {
  override readonly name = 'PolicySpecError';
  readonly code = 'invalid-policy';
  readonly field: string;
  constructor(field: string, problem: string, options: { cause?: unknown } = {}) {
    super(`policy: ${field} ${problem}`, { cause: options.cause });
    this.field = field;
  }
}

/** Checks a policy's configuration. @throws PolicySpecError. */
export function parsePolicySpec(value: unknown): PolicySpec {
  const parsed = policySpec.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknownKey !== undefined)
    throw new PolicySpecError(unknownKey, 'is not a field of this kind of policy; remove it or correct its name');
  throw new PolicySpecError(issue?.path.join('.') || 'configuration', issue?.message ?? 'does not fit');
}

export const POLICY_FORMS =
  'random, planner, planner:EPSILON, linear, linear:FILE, live:POLICY, openai:MODEL@URL, or a JSON object with all the fields of one';

/**
 * Reads the short form of the command line, such as `planner:0.2` or `openai:qwen@http://127.0.0.1:8000/v1`. @throws
 * PolicySpecError.
 */
export function parsePolicyText(text: string): PolicySpec {
  if (text.trimStart().startsWith('{')) return parsePolicySpec(parseObject(text));
  const colon = text.indexOf(':');
  const kind = colon < 0 ? text : text.slice(0, colon);
  const rest = colon < 0 ? undefined : text.slice(colon + 1);
  switch (kind) {
    case 'random':
      if (rest !== undefined)
        throw new PolicySpecError('random', `takes nothing after it, not ${JSON.stringify(rest)}; write random`);
      return parsePolicySpec({ kind });
    case 'planner':
      if (rest !== undefined && !/^(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)$/.test(rest)) {
        throw new PolicySpecError(
          'epsilon',
          `must be a number from 0 to 1, not ${JSON.stringify(rest)}; write for example planner:0.2`,
        );
      }
      return parsePolicySpec(rest === undefined ? { kind } : { kind, epsilon: Number(rest) });
    case 'linear':
      return parsePolicySpec(rest === undefined ? { kind } : { kind, weightsFile: rest });
    case 'live':
      return parsePolicySpec({ kind, policyId: rest ?? '' });
    case 'openai': {
      const [, model, baseUrl] = /^(.+)@(https?:\/\/.*)$/.exec(rest ?? '') ?? [];
      if (!model)
        throw new PolicySpecError(
          'openai',
          'needs a model and an address; write for example openai:qwen@http://127.0.0.1:8000/v1',
        );
      return parsePolicySpec({ kind, model, baseUrl });
    }
    default:
      throw new PolicySpecError('kind', `${JSON.stringify(text.slice(0, 80))} is unknown; write ${POLICY_FORMS}`);
  }
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
