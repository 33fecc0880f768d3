export interface AdmissionRule {
  /** Trajectory groups of one mini-batch. */
  readonly miniBatchSize: number;
  /** Mini-batches that one update step takes. */
  readonly requireBatches: number;
  /** Update steps between two policy versions that collectors see. */
  readonly trigger: number;
  /** The part of a version's samples that may be stale, 0 or more. */
  readonly staleness: number;
}

export interface AdmissionBudget {
  readonly required: number;
  /** The most that may be outstanding until the next version. */
  readonly most: number;
  /** What may still be admitted: producers wait when it is used up, nothing is dropped. */
  readonly left: number;
}

/**
 * int(required·(staleness + 1)·trigger) slots per policy version, less what is already outstanding; required = mini-batch ×
 * batches (verl's fully-async policy). One unit is one prompt with all its responses.
 */
export function admissionBudget(rule: AdmissionRule, outstanding: number): AdmissionBudget {
  const required = rule.miniBatchSize * rule.requireBatches;
  const most = Math.trunc(required * (rule.staleness + 1) * rule.trigger);
  return { required, most, left: Math.max(0, most - outstanding) };
}
