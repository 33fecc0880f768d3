import { sha256Hex } from '../digest/sha256.ts';
import { type Judge, JudgeUnfit } from './judge.ts';
import { modelJudge } from './judge-by-model.ts';
import { planJudge } from './judge-by-plan.ts';
import { createPolicy, type PolicySpec, parsePolicyText } from './policy-spec.ts';

export const JUDGE_FORMS =
  'planner (exact, where the environment plans), planner-strict (a step that brings the goal no nearer is bad too), self (the model that acted), openai:MODEL@URL, or direct (nobody: the whole bad trajectory is kept)';

export type JudgeSpec =
  | { readonly kind: 'direct' }
  | { readonly kind: 'planner' | 'planner-strict' }
  | { readonly kind: 'model'; readonly text: string };

/**
 * Reads a judge of the command line. @param acting the policy that collected the run, which `self` means; null when it is not
 * known.
 * @throws JudgeUnfit, PolicySpecError.
 */
export function parseJudgeText(text: string, acting: string | null): JudgeSpec {
  if (text === 'direct' || text === 'planner' || text === 'planner-strict') return { kind: text };
  const named = text === 'self' ? acting : text;
  if (named === null) throw new JudgeUnfit(`judge self: the run does not say which policy acted; name ${JUDGE_FORMS}`);
  const isModel = named.startsWith('openai:') || named.trimStart().startsWith('{');
  if (isModel && parsePolicyText(named).kind === 'openai') return { kind: 'model', text: named };
  const why =
    text === 'self'
      ? `the run's policy ${named} is no model that can be asked`
      : `there is no ${JSON.stringify(text.slice(0, 200))}`;
  throw new JudgeUnfit(`judge: ${why}; name ${JUDGE_FORMS}`);
}

/**
 * Makes the judge that was named; null when nobody is to be asked. Who calls it closes it.
 * @param world the fingerprint of the environment the trees were grown in.
 */
export async function createJudge(
  spec: JudgeSpec,
  world: string,
  secrets: { readonly apiKey?: string | undefined } = {},
): Promise<Judge | null> {
  switch (spec.kind) {
    case 'direct':
      return null;
    case 'planner':
      return planJudge(world);
    case 'planner-strict':
      return planJudge(world, 'strict');
    case 'model': {
      const policy = parsePolicyText(spec.text);
      if (policy.kind !== 'openai') throw new JudgeUnfit(`judge: ${spec.text} is no model`);
      // A verdict is text: token ids and log-probabilities would only make the answer larger.
      return modelJudge(await createPolicy({ tokenIds: 'none', ...policy }, secrets), samplingOf(policy));
    }
    default:
      return spec satisfies never;
  }
}

/**
 * Names the settings that decide what a model replies, so that a verdict that was cut at `maxTokens` is not reused when more are
 * allowed.
 */
function samplingOf({ sampling, maxTokens, stop, systemRole, maxPromptTokens }: OpenAiSpec): string {
  const settings = JSON.stringify({ sampling, maxTokens, stop, systemRole, maxPromptTokens });
  return settings === '{}' ? '' : `/${sha256Hex(settings).slice(0, 8)}`;
}

type OpenAiSpec = Extract<PolicySpec, { kind: 'openai' }>;
