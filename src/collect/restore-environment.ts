import type { Environment, StepResult } from '../environments/environment.ts';
import { derivedId } from '../events/derived-id.ts';
import type { GrowingTree } from './collect-tree.ts';
import type { TreeNode } from './rollout-events.ts';

export type Restored = { readonly kind: 'same'; readonly last: StepResult | undefined } | { readonly kind: 'diverged' };

/**
 * Brings an environment to the end of a path by reset and replay of its actions, and compares every observation with the recorded one. A
 * difference is recorded as an event: what would follow on it could not have happened. @param cause names who asked, for the event's id.
 */
export async function restoreEnvironment(
  tree: GrowingTree,
  environment: Environment,
  path: readonly TreeNode[],
  cause: string,
): Promise<Restored> {
  await environment.reset({ alias: tree.task.alias, seed: tree.plan.taskSeed });
  let last: StepResult | undefined;
  for (const node of path.slice(1)) {
    last = await environment.step(node.action, tree.signal);
    if (sameText(last.observation, node.observation)) continue;
    const data = {
      treeId: tree.treeId,
      stepId: node.stepId,
      field: 'observation' as const,
      recorded: node.observation,
      replayed: last.observation,
    };
    await tree.appender.append([
      { type: 'ReplayDiverged', id: derivedId('ReplayDiverged', cause, node.stepId), correlationId: tree.runId, data },
    ]);
    return { kind: 'diverged' };
  }
  return { kind: 'same', last };
}

/** Gives the nodes from the root to a step, both included. */
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

/** Compares as stored: what cannot be stored was replaced on append. */
export function sameText(a: string, b: string): boolean {
  return a === b || a.toWellFormed().replaceAll('\0', '\uFFFD') === b;
}
