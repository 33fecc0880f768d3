import { derivedId } from '../events/derived-id.ts';
import type { PolicyRef } from '../events/schemas/values.ts';
import type { GrowingTree } from './collect-tree.ts';
import { restoreEnvironment } from './restore-environment.ts';
import { rewards, stepData, stepEvent, type TreeNode, toolDrafts } from './rollout-events.ts';

/** A step of a recorded rollout that is taken again: what was said, and by which policy. */
export interface ActedStep {
  readonly response: string;
  readonly policy: PolicyRef;
}

/** Reads the first `steps` steps of a rollout, in order. */
export type ReadPrefix = (rolloutId: string, steps: number) => Promise<readonly ActedStep[]>;

/**
 * Takes the actions that a planned task begins behind, and gives the step at which its rollouts start; the root where it has none. The steps
 * belong to no rollout of this tree, and name the policy that took them first. What the record holds of them is not taken again but replayed, every observation
 * compared. @throws RangeError when the rollout is shorter, or the episode ends on the way: there is nothing to go on behind.
 */
export async function playPrefix(tree: GrowingTree): Promise<string> {
  const { task, nodes, rootStepId, treeId } = tree;
  if (!task.behind) return rootStepId;
  const { rolloutId, steps } = task.behind;
  const prefix = (await tree.readPrefix?.(rolloutId, steps)) ?? [];
  if (prefix.length !== steps)
    throw new RangeError(
      `rollout ${rolloutId} has ${prefix.length} steps on record, not the ${steps} that the plan goes on behind`,
    );
  const root = nodes.get(rootStepId);
  if (!root) throw new RangeError(`tree ${treeId} has no root`);
  const path: TreeNode[] = [root];
  for (let depth = 1; depth <= steps; depth++) {
    const node = nodes.get(stepIdOf(treeId, depth));
    if (!node) break;
    path.push(node);
  }
  const last = path.at(-1) ?? root;
  if (path.length > steps) return last.stepId;
  const environment = await tree.kind.create();
  try {
    const restored = await restoreEnvironment(tree, environment, path, treeId);
    if (restored.kind === 'diverged') throw new RangeError(`the environment did not repeat the recorded steps of tree ${treeId}`);
    let at = last;
    for (const { response, policy } of prefix.slice(path.length - 1)) {
      const began = tree.clock();
      const parsed = environment.parse(response);
      const result = await environment.step(parsed.action);
      if (result.terminated || result.truncated)
        throw new RangeError(
          `the episode of task ${task.alias} ends at step ${at.depth + 1} of the ${steps} that the plan goes on behind`,
        );
      const stepId = stepIdOf(treeId, at.depth + 1);
      const act = { response, tokens: null, usage: null, finishReason: null };
      const timings = { policyMs: 0, environmentMs: Math.max(0, tree.clock() - began) };
      const own = { ...tree, policy: { ...tree.policy, ref: policy } };
      const data = stepData({ tree: own, stepId, rolloutId: null, at, act, parsed, result, timings, done: false });
      await tree.appender.append([
        stepEvent(tree, data),
        ...toolDrafts(tree, stepId, result),
        ...rewards({ tree, rolloutId: null }, stepId, result, false),
      ]);
      tree.onStep();
      const { observation, admissibleActions } = result;
      at = {
        stepId,
        parentStepId: at.stepId,
        depth: at.depth + 1,
        response,
        action: result.executed ?? parsed.action,
        observation,
        admissibleActions,
        ended: false,
      };
      nodes.set(stepId, at);
    }
    return at.stepId;
  } finally {
    await environment.close();
  }
}

function stepIdOf(treeId: string, depth: number): string {
  return derivedId('step', treeId, 'prefix', depth);
}
