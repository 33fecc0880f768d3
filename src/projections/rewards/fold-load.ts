import type { Delivery, Envelope } from '../../events/envelope.ts';
import { isOf, LoadEnds, type Poison } from '../projection.ts';
import { emptyTree, type LoadedTree, noteReward, sumReturn } from './loaded-tree.ts';
import { missingReward, missingStep, missingTree } from './refused.ts';
import { type EdgeRow, type LatestRow, latestRow, type RevisionRow, type RewardRow, revisionRow, rewardRow } from './rows.ts';

/** What a batch adds to the tables and what it changes in them. */
export interface LoadRows {
  readonly trees: { readonly tree_id: string; readonly run_id: string }[];
  readonly edges: EdgeRow[];
  readonly rewards: RewardRow[];
  readonly revisions: RevisionRow[];
  readonly latest: readonly LatestRow[];
  readonly returns: {
    readonly rollout_id: string;
    readonly tree_id: string;
    readonly run_id: string;
    readonly leaf_step_id: string;
    readonly value: number;
  }[];
  readonly changed: { readonly rollout_id: string; readonly value: number }[];
}

/** Folds a batch into rows and into the trees that are remembered. As in `project`, an event sees only what lies before it. */
export function foldLoad(
  batch: readonly Delivery[],
  known: Map<string, LoadedTree>,
): { readonly rows: LoadRows; readonly poison: readonly Poison[] } {
  const rows: Mutable = { trees: [], edges: [], rewards: [], revisions: [], returns: [], changed: [] };
  const latest = new Map<string, LatestRow>();
  const touched = new Set<LoadedTree>();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'TreeOpened')) {
      openTree(delivery.event, known, rows);
      continue;
    }
    const { treeId } = delivery.event.data as { treeId: string }; // every type handled here names its tree
    const tree = known.get(treeId);
    if (tree === undefined) {
      poison.push({ delivery, ...missingTree(treeId) });
      continue;
    }
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, parentStepId } = delivery.event.data;
      if (tree.parents.has(parentStepId)) addEdge(tree, stepId, parentStepId, rows);
      else poison.push({ delivery, ...missingStep('data.parentStepId', parentStepId, treeId) });
    }
    if (isOf(delivery, 'RewardAssigned') && !tree.rewards.has(delivery.event.data.rewardId)) {
      const row = rewardRow(delivery.event);
      noteReward(tree, row);
      rows.rewards.push(row);
      touched.add(tree);
    }
    if (isOf(delivery, 'RewardRevised')) {
      const { id, data } = delivery.event;
      const reward = tree.rewards.get(data.rewardId);
      if (reward === undefined) {
        poison.push({ delivery, ...missingReward(data) });
        continue;
      }
      if (tree.revised.has(id)) continue;
      tree.revised.add(id);
      reward.revisions += 1;
      reward.value = data.value;
      rows.revisions.push(revisionRow(delivery.event, reward.revisions));
      latest.set(data.rewardId, latestRow(delivery.event, reward.revisions));
      touched.add(tree);
    }
    if (isOf(delivery, 'RolloutFinished')) {
      const { rolloutId, leafStepId } = delivery.event.data;
      if (!tree.parents.has(leafStepId)) {
        poison.push({ delivery, ...missingStep('data.leafStepId', leafStepId, treeId) });
        continue;
      }
      if (tree.finished.has(rolloutId)) continue;
      tree.finished.set(rolloutId, { leafStepId, value: null });
      touched.add(tree);
    }
  }
  for (const tree of touched) sumTree(tree, rows);
  return { rows: { ...rows, latest: [...latest.values()] }, poison };
}

type Mutable = Omit<LoadRows, 'latest'>;

function openTree(
  { data: { treeId, runId, rootStepId } }: Envelope<'TreeOpened'>,
  known: Map<string, LoadedTree>,
  rows: Mutable,
): void {
  const current = known.get(treeId);
  if (current && current.runId !== runId) throw new LoadEnds(`tree ${treeId} was opened in two runs`);
  const tree = current ?? emptyTree(treeId, runId);
  if (current === undefined) {
    known.set(treeId, tree);
    rows.trees.push({ tree_id: treeId, run_id: runId });
  }
  addEdge(tree, rootStepId, null, rows);
}

function addEdge(tree: LoadedTree, stepId: string, parentStepId: string | null, rows: Mutable): void {
  if (tree.parents.has(stepId)) return;
  tree.parents.set(stepId, parentStepId);
  rows.edges.push({ step_id: stepId, tree_id: tree.treeId, parent_step_id: parentStepId });
}

/** Sums the returns of a tree again: those that are not written yet become rows, those that are another now are changed. */
function sumTree(tree: LoadedTree, rows: Mutable): void {
  for (const [rolloutId, { leafStepId, value: written }] of tree.finished) {
    const value = sumReturn(tree, rolloutId, leafStepId);
    if (value === written) continue;
    tree.finished.set(rolloutId, { leafStepId, value });
    if (written !== null) rows.changed.push({ rollout_id: rolloutId, value });
    else rows.returns.push({ rollout_id: rolloutId, tree_id: tree.treeId, run_id: tree.runId, leaf_step_id: leafStepId, value });
  }
}
