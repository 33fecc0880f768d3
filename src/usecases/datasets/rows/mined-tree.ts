import type { BlobStore } from '../../../blobs/blob-store.ts';
import { replyMessage } from '../../../domain/prompts/reply-message.ts';
import type { SearchedStep } from '../../../domain/search/searched-step.ts';
import { growTree, pathTo, type Tree } from '../../../domain/tree/grow-tree.ts';
import type { RecordedRollout, RecordedTree, TreeHead } from '../../../projections/trajectories/recorded-tree.ts';
import type { Selected } from '../../../projections/trajectories/select-trajectories.ts';
import { resolveReply, resolveTexts } from '../export/resolve-texts.ts';

/**
 * A recorded tree as mining sees it: every trajectory that ended with what it was worth, whether a search grew it or rollouts
 * side by side.
 */
export interface MinedTree {
  readonly head: TreeHead;
  readonly firstObservation: string;
  /** Ids of the pictures of observations, by the step. */
  readonly pictures: ReadonlyMap<string, readonly string[]>;
  readonly tree: Tree<SearchedStep>;
  /** The rollout that ended at a leaf. */
  readonly endedAt: ReadonlyMap<string, RecordedRollout>;
  /** Steps that the policy of their trajectory did not write: never trained on. */
  readonly untrained: ReadonlySet<string>;
}

/** Reads a tree for mining: its texts resolved, the chosen rollouts counted as visits. @throws DatasetError `blob`. */
export async function mineTree(
  recorded: RecordedTree,
  selected: readonly Selected[],
  blobs: Pick<BlobStore, 'get'>,
  pictures: MinedTree['pictures'],
): Promise<MinedTree> {
  const endedAt = new Map<string, RecordedRollout>();
  const counts = new Map<string, { visits: number; valueSum: number }>();
  for (const { rolloutId, returnValue } of selected) {
    const rollout = recorded.rollouts.get(rolloutId);
    // What failed or was cancelled says nothing of its policy; a leaf that was reached twice is one trajectory.
    if (rollout?.outcome !== 'terminated' && rollout?.outcome !== 'truncated') continue;
    if (rollout.leafStepId === null || endedAt.has(rollout.leafStepId)) continue;
    endedAt.set(rollout.leafStepId, rollout);
    for (const { stepId } of pathTo(recorded.tree, rollout.leafStepId)) {
      const { visits, valueSum } = counts.get(stepId) ?? { visits: 0, valueSum: 0 };
      // A disaster counts as nothing, as in the search (specification of Agent-R, §1.5).
      counts.set(stepId, { visits: visits + 1, valueSum: valueSum + Math.max(0, returnValue) });
    }
  }
  const place = `tree ${recorded.head.treeId}`;
  const rows: SearchedStep[] = [];
  const untrained = new Set<string>();
  let firstObservation = '';
  for (const { step, parent } of recorded.tree.nodes.values()) {
    const resolved = await resolveTexts(step, blobs, `${place} step ${step.stepId}`);
    if (parent === null) firstObservation = resolved.observation;
    else if (!step.policySpans.some(({ policyId }) => [...endedAt.values()].some((rollout) => rollout.policyId === policyId)))
      untrained.add(step.stepId);
    rows.push({
      stepId: step.stepId,
      parentStepId: step.parentStepId,
      response: resolved.response,
      ...(resolved.reply
        ? { message: replyMessage({ ...resolved, reply: await resolveReply(resolved.reply, blobs, place) }) }
        : {}),
      action: resolved.action,
      observation: parent === null ? '' : resolved.observation,
      score: 0,
      disaster: false,
      terminal: endedAt.has(step.stepId),
      ...(counts.get(step.stepId) ?? { visits: 0, valueSum: 0 }),
    });
  }
  const head = await resolveTexts(recorded.head, blobs, place);
  return { head, firstObservation, pictures, tree: growTree(rows), endedAt, untrained };
}
