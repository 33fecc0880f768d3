import type { DataOf } from '../../events/catalogue.ts';
import type { Poison } from '../projection.ts';

/** Why an event of a tree is refused. */
export type Refusal = Omit<Poison, 'delivery'>;

/** What is known of a step: its place, and the rollout that took it; null for the root and a step of a search that no walk ended in. */
export interface KnownStep {
  readonly depth: number;
  readonly rolloutId: string | null;
}

/** The step that a rollout began at. */
export interface KnownRollout {
  readonly fromStepId: string;
  readonly fromDepth: number;
}

/** Refuses a step that is elsewhere than its parent. */
export function wrongDepth(depth: number, parent: Pick<KnownStep, 'depth'>): Refusal | undefined {
  if (depth === parent.depth + 1) return undefined;
  return { code: 'depth', field: 'data.depth', reason: `must be ${parent.depth + 1}, one more than its parent's` };
}

/** Refuses the end of a rollout at a step that it did not take, and one that counts other steps than lead to it. */
export function wrongEnd(
  { rolloutId, leafStepId, steps }: DataOf<'RolloutFinished'>,
  { fromStepId, fromDepth }: KnownRollout,
  leaf: KnownStep,
): Refusal | undefined {
  if (leafStepId !== fromStepId && leaf.rolloutId !== rolloutId) {
    const reason = `rollout ${rolloutId} did not take step ${leafStepId}; name the last step that it took, or the one that it began at`;
    return { code: 'not-taken', field: 'data.leafStepId', reason };
  }
  const taken = leaf.depth - fromDepth;
  if (steps === taken) return undefined;
  return {
    code: 'steps',
    field: 'data.steps',
    reason: `must be ${taken}, the steps from where rollout ${rolloutId} began to its leaf`,
  };
}

export function missingRollout(rolloutId: string, treeId: string): Refusal {
  return {
    code: 'missing-rollout',
    field: 'data.rolloutId',
    reason: `tree ${treeId} has no rollout ${rolloutId}; append its RolloutStarted first, then requeue this event`,
  };
}

export function missingStep(field: string, stepId: string, treeId: string): Refusal {
  return {
    code: 'missing-parent',
    field,
    reason: `tree ${treeId} has no step ${stepId}; append that step first, then requeue this event`,
  };
}
