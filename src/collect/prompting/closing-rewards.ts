import type { Draft } from '../../append/appender.ts';
import { factorReward } from '../../domain/compression/factor-reward.ts';
import { tokensSavedReward } from '../../domain/compression/tokens-saved-reward.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { GrowingTree } from '../collect-tree.ts';
import type { TreeNode } from '../rollout-events.ts';
import { factorOf, historyAt, type Prompter, readAnswer } from './prompter.ts';

/** Raised when the same episode would be paid otherwise. */
const REVISION = '1';

/**
 * Pays a walk for what its answers were beside their actions, when its end is known: for compression (by the plan's rule and schedule), and for a
 * broken form. Components of their own, so that any other sum can be made later. The factor of an answer is paid at that answer, though it
 * shrinks the next image; nothing is paid for the last. @param path from the root; the steps of this walk are those of its rollout.
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
    const penalty = readAnswer(prompter, node.response).wellFormatted ? 0 : -prompter.plan.invalidPenalty;
    if (penalty !== 0)
      drafts.push(
        rewardDraft(tree, walk.rolloutId, node, { component: 'invalid-action', scorer: 'invalid-action', value: penalty }),
      );
  }
  return drafts;
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
  const { lambda, mu, every, iteration } = compression;
  const active = iteration % every === 0;
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

function rewardDraft(tree: GrowingTree, rolloutId: string, { stepId }: TreeNode, { component, scorer, value }: Paid): Draft {
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
