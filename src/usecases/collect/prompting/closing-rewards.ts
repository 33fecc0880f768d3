import type { Draft } from '../../../append/appender.ts';
import { factorReward, isRewarded, tokensSavedReward } from '../../../domain/compression/factor-reward.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { GrowingTree, TreeNode } from '../growing-tree.ts';
import type { CollectPlan } from '../plan.ts';
import { iterationOf, type Prompter } from './prompt-plan.ts';
import { factorOf, historyAt, readAnswer } from './prompter.ts';

/** Raised when the same episode would be paid otherwise. */
const REVISION = '1';

/**
 * Pays a walk for what its answers were besides their actions, when its end is known: for compression (by the plan's rule and
 * schedule), and for a broken form. Components of their own, so that any other sum can be made later. The factor of an answer is
 * paid at that answer, though it shrinks the next image; nothing is paid for the last. @param path from the root; the steps of
 * this walk are those of its rollout.
 */
export async function closingRewards(
  tree: GrowingTree,
  path: readonly TreeNode[],
  walk: { readonly rolloutId: string; readonly fromDepth: number; readonly success: boolean },
): Promise<Draft[]> {
  const { prompter } = tree;
  if (!prompter) return [];
  const drafts: Draft[] = [];
  for (const [index, node] of path.entries()) {
    if (node.depth <= walk.fromDepth) continue;
    const endsEpisode = index === path.length - 1;
    const paid = await compressionOf(prompter, tree, path.slice(0, index + 1), { ...walk, endsEpisode });
    if (paid && paid.value !== 0) drafts.push(rewardDraft(tree, walk.rolloutId, node, paid));
    for (const each of penalties(tree, walk.rolloutId, node)) drafts.push(each);
  }
  return drafts;
}

/**
 * What an answer loses that breaks the form. It depends on the answer alone, so a search pays it at the step, once, whatever
 * walks share the step.
 * @param rolloutId null for a step of a search that no walk ended in.
 */
export function penalties(tree: GrowingTree, rolloutId: string | null, node: Pick<TreeNode, 'stepId' | 'response'>): Draft[] {
  const { prompter } = tree;
  if (!prompter || prompter.plan.invalidPenalty === 0 || readAnswer(prompter, node.response).wellFormatted) return [];
  const value = -prompter.plan.invalidPenalty;
  return [rewardDraft(tree, rolloutId, node, { component: 'invalid-action', scorer: 'invalid-action', value })];
}

/**
 * Describes why a search cannot be paid as a plan asks, or null. A factor is paid by whether its episode succeeded, at every
 * answer of it but the last. A step that several walks share has several episodes, some successful and some not, and a reward
 * belongs to a step once: whichever walk paid it would be wrong for the others.
 */
export function refuseSearchPayment({ search, prompt }: Pick<CollectPlan, 'search' | 'prompt'>): string | null {
  const reward = prompt?.compression?.reward ?? 'none';
  if (!search || reward === 'none') return null;
  return `a search cannot pay for compression by ${reward}: walks that share a step do not share their outcome; ask for factors without paying them (--compression none), or collect rollouts without --search`;
}

interface Paid {
  readonly component: string;
  readonly scorer: string;
  readonly value: number;
}

async function compressionOf(
  prompter: Prompter,
  tree: GrowingTree,
  path: readonly TreeNode[],
  { success, endsEpisode }: { readonly success: boolean; readonly endsEpisode: boolean },
): Promise<Paid | null> {
  const { compression } = prompter.plan;
  const node = path.at(-1);
  if (!compression || compression.reward === 'none' || !node) return null;
  const { lambda, mu, every } = compression;
  const active = isRewarded(every, iterationOf(compression, node.policyVersion));
  if (compression.reward === 'factor') {
    const factor = factorOf(prompter, node.response);
    const value = factorReward({ factor, success, active, endsEpisode }, { lambda, mu });
    return { component: 'compression', scorer: 'compression-factor', value };
  }
  const next = endsEpisode || !active ? null : await historyAt(prompter, tree.opening, path);
  const image = next && { tokensWhole: next.wholeTokens, tokens: next.vision.tokens };
  const value = tokensSavedReward({ image, success, active }, { lambda, mu });
  return { component: 'compression', scorer: 'compression-tokens-saved', value };
}

function rewardDraft(
  tree: GrowingTree,
  rolloutId: string | null,
  { stepId }: Pick<TreeNode, 'stepId'>,
  { component, scorer, value }: Paid,
): Draft {
  const rewardId = derivedId('reward', stepId, component);
  return {
    type: 'RewardAssigned',
    id: derivedId('RewardAssigned', rewardId),
    correlationId: tree.runId,
    causationId: derivedId('StepTaken', stepId),
    data: {
      rewardId,
      treeId: tree.treeId,
      stepId,
      rolloutId,
      component,
      value,
      scorer: { name: scorer, revision: REVISION },
      raw: null,
    },
  };
}
