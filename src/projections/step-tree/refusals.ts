import type { Poison } from '../projection.ts';

/** Why an event of a tree is refused. */
export type Refusal = Omit<Poison, 'delivery'>;

export function missingStep(field: string, stepId: string, treeId: string): Refusal {
  return {
    code: 'missing-parent',
    field,
    reason: `tree ${treeId} has no step ${stepId}; append that step first, then requeue this event`,
  };
}
