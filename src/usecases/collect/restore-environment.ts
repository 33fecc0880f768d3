import type { Environment, StepResult } from '../../environments/environment.ts';
import { replayAtOnce } from '../../environments/replay-at-once.ts';
import { observationText, type RecordedObservation, sameObservation, shownText } from '../../environments/same-observation.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';

export type Restored =
  | { readonly kind: 'same'; readonly last: StepResult | undefined }
  /** @param at whether the task itself opened otherwise, or an action was answered otherwise. */
  | { readonly kind: 'diverged'; readonly at: 'opening' | 'step' };

interface Difference {
  readonly at: TreeNode;
  readonly seen: Seen;
}

/** What the environment says and shows now. */
type Seen = Pick<StepResult, 'observation' | 'pictures' | 'stateHash'>;

/**
 * Brings an environment to the end of a path by reset and replay of its actions, and compares every observation, the first one
 * too, with the recorded one. A difference is repeated once from the start, while no other task starts on the same server; one
 * that is still there is recorded as an event: what would follow on it could not have happened. @param cause names who asked, for
 * the event's id.
 */
export async function restoreEnvironment(
  tree: GrowingTree,
  environment: Environment,
  path: readonly TreeNode[],
  cause: string,
): Promise<Restored> {
  const first = await walkThere(tree, environment, path);
  if (first.kind === 'same') return first;
  const alone = await walkThere(tree, environment, path, 'alone');
  if (alone.kind === 'same') return alone;
  const { at, seen } = alone.difference;
  await tree.appender.append([diverged(tree, cause, at, seen)]);
  if (at.parentStepId !== null) return { kind: 'diverged', at: 'step' };
  tree.openedOtherwise.add(cause);
  return { kind: 'diverged', at: 'opening' };
}

async function walkThere(
  tree: GrowingTree,
  environment: Environment,
  path: readonly TreeNode[],
  mode?: 'alone',
): Promise<Extract<Restored, { kind: 'same' }> | { readonly kind: 'differs'; readonly difference: Difference }> {
  const task = { alias: tree.task.alias, seed: tree.plan.taskSeed };
  const [root, ...steps] = path;
  const begin = root && { task, firstObservation: root.observation, firstPictures: root.pictures };
  const taken = mode || !begin ? null : await replayAtOnce(environment, { ...begin, steps });
  if (taken) return { kind: 'same', last: taken.at(-1) };
  let seen: Seen = await environment.reset(mode ? { ...task, mode } : task);
  let last: StepResult | undefined;
  for (const at of path) {
    if (at.parentStepId !== null) {
      last = await environment.step(at.action, tree.signal);
      seen = last;
    }
    if (!sameObservation(seen, at)) return { kind: 'differs', difference: { at, seen } };
  }
  return { kind: 'same', last };
}

/** Returns what the environment says now in place of a recorded observation. */
export function diverged(
  { treeId, runId }: Pick<GrowingTree, 'treeId' | 'runId'>,
  cause: string,
  { stepId, stateHash, ...recorded }: Pick<TreeNode, 'stepId' | 'stateHash'> & RecordedObservation,
  seen: Seen,
) {
  return {
    type: 'ReplayDiverged' as const,
    id: derivedId('ReplayDiverged', cause, stepId),
    correlationId: runId,
    data: {
      treeId,
      stepId,
      field: 'observation' as const,
      recorded: observationText(recorded),
      replayed: shownText(seen),
      ...statesOf(stateHash, seen.stateHash),
    },
  };
}

/** Returns the states of a difference for its event; nothing where neither is known. */
export function statesOf(recorded: string | null, replayed: string | null) {
  return recorded === null && replayed === null ? {} : { stateHashes: { recorded, replayed } };
}

/** Returns the nodes from the root to a step, both included. */
export function pathTo(tree: GrowingTree, stepId: string): TreeNode[] {
  const path: TreeNode[] = [];
  for (let id: string | null = stepId; id !== null; ) {
    const node = tree.nodes.get(id);
    if (!node) throw new RangeError(`tree ${tree.treeId} has no step ${id}`);
    path.push(node);
    id = node.parentStepId;
  }
  return path.reverse();
}
