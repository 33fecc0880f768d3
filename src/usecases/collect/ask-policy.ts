import type { ChatMessage } from '../../domain/history/prompt.ts';
import { type PolicyPrompt, serverSampling } from '../../domain/prompts/policy-prompt.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Environment } from '../../environments/environment.ts';
import { RenderRefused } from '../../images/history-sizes.ts';
import { type Act, type ActRequest, PolicyError } from '../../policies/policy.ts';
import { askedMessages } from '../../policies/shown-prompt.ts';
import { inSpan } from '../../runtime/tracing.ts';
import { environmentFault } from './environment-fault.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';
import { recordSegments } from './prompting/history-drafts.ts';
import type { DrawnHistory, StepPrompt } from './prompting/prompt-plan.ts';
import { promptStep } from './prompting/prompter.ts';

export type PolicyAnswer =
  | {
      readonly kind: 'acts';
      readonly acts: readonly Act[];
      /** The image that the prompt showed its history as; null where it showed none. */
      readonly history: DrawnHistory | null;
    }
  | { readonly kind: 'failed'; readonly reason: string };

/** A prompt that the collector prescribes, or that it cannot be made short enough. */
export type PrescribedPrompt =
  | { readonly kind: 'fits'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'too-long'; readonly limit: number };

export interface PolicyRequest {
  /** Of the walk; the depth is mixed in. */
  readonly seed: number;
  readonly n: number;
  readonly prompt?: PrescribedPrompt | null;
  /** What the policy said here before, where that is on record: it is not asked again. */
  readonly recorded?: readonly Act[] | null;
}

/**
 * Asks the policy for acts at the end of a path. What it cannot answer here is a reason to record; what it can answer nowhere (a
 * server that is away or refuses us) is thrown and ends the run, which stays resumable.
 */
export async function askPolicy(
  tree: GrowingTree,
  environment: Pick<Environment, 'expertAction'>,
  path: readonly TreeNode[],
  { seed, n, prompt = null, recorded = null }: PolicyRequest,
): Promise<PolicyAnswer> {
  if (prompt?.kind === 'too-long')
    return { kind: 'failed', reason: `what is never cut of the prompt is longer than ${prompt.limit} tokens` };
  const { opening, prompter } = tree;
  let step: StepPrompt | null = null;
  try {
    step = prompter ? await promptStep(prompter, opening, path) : null;
    if (step?.history) await recordSegments(tree, step.history);
  } catch (error) {
    if (error instanceof RenderRefused) return { kind: 'failed', reason: error.message };
    throw error;
  }
  const temperature = tree.policy.temperature ?? tree.plan.temperature;
  if (recorded) return { kind: 'acts', acts: recorded, history: step?.history ?? null };
  const request: ActRequest = {
    goal: opening.goal,
    instruction: opening.instruction,
    firstObservation: opening.observation,
    ...(path[0]?.pictures?.length ? { firstImages: path[0].pictures } : {}),
    history: path.slice(1).map(({ response, action, observation, pictures = [] }) => ({
      response,
      action,
      observation,
      ...(pictures.length > 0 ? { images: pictures } : {}),
    })),
    admissibleActions: path.at(-1)?.admissibleActions ?? null,
    expertAction: async () => (await environment.expertAction?.()) ?? null,
    seed: seedFrom('step', seed, path.length),
    n,
    temperature,
    ...(tree.plan.training ? { trains: true } : {}),
    ...(prompt ? { messages: prompt.messages } : {}),
    ...(step ? { shown: step.shown } : {}),
  };
  try {
    const acts = await inSpan('ask policy', { attributes: { 'espalier.policy': tree.policy.ref.policyId } }, () =>
      tree.policy.act(request, tree.signal),
    );
    const shown = step ? askedAs(step.shown, temperature) : null;
    return acts.length > 0
      ? { kind: 'acts', acts: shown ? acts.map((act) => ({ asked: shown, ...act })) : acts, history: step?.history ?? null }
      : { kind: 'failed', reason: 'the policy gave no act' };
  } catch (error) {
    if (error instanceof PolicyError && error.code !== 'unreachable' && error.code !== 'refused')
      return { kind: 'failed', reason: cutText(error.message, 9_000) };
    const fault = environmentFault(error); // of who plans for the policy
    if (fault?.kind === 'failed') return { kind: 'failed', reason: fault.reason };
    throw error;
  }
}

/** What a policy inside this program, which chooses among actions, is asked with where the run words its prompts. */
function askedAs({ messages }: StepPrompt['shown'], temperature: number): PolicyPrompt {
  return {
    messages: askedMessages(messages),
    tools: null,
    server: null,
    model: null,
    tokenIds: null,
    sampling: serverSampling(temperature),
  };
}
