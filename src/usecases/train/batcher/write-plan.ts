import type { Draft } from '../../../append/appender.ts';
import type { Decision } from '../../../domain/training/planning/plan-batches.ts';
import type { PlanRules } from '../../../domain/training/planning/plan-rules.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { manifestHashOf } from '../../../events/manifest-hash.ts';
import type { Method } from '../../../events/schemas/training.ts';

export interface PlanOrigin {
  readonly lineageId: string;
  readonly policyId: string;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  /** How far the planner had read. */
  readonly position: string;
  /** The manifest of the batch before; null before the first. */
  readonly previousHash: string | null;
}

/**
 * Writes decisions as events whose ids follow from what they say: said again, they are recognised. Batches are chained by their
 * manifests.
 */
export function writePlan(decisions: readonly Decision[], origin: PlanOrigin): readonly Draft[] {
  const { lineageId, policyId, estimator, rules, seed, position } = origin;
  const lineage = { lineageId, policyId };
  let previousHash = origin.previousHash;
  return decisions.map((decision): Draft => {
    if (decision.kind === 'reject') {
      const { treeId: groupId, rolloutId, reason, rule, measured } = decision;
      const data = { ...lineage, groupId, rolloutId, reason, rule, measured };
      const id = derivedId('SampleRejected', lineageId, rolloutId, reason, rule, measured ?? 'null');
      return { type: 'SampleRejected', id, correlationId: lineageId, data };
    }
    const { ordinal, policyVersion, samples, tokens } = decision.batch;
    const groups = decision.batch.groups.map(({ treeId, rolloutIds }) => ({ treeId, rolloutIds: [...rolloutIds] }));
    const shards = decision.batch.shards.map((places) => [...places]);
    const batchId = derivedId('batch', lineageId, ordinal);
    const planned = { batchId, ordinal, policyVersion, groups, samples, tokens, shards };
    const manifest = { ...lineage, ...planned, estimator, rules, seed, position, previousHash };
    const manifestHash = manifestHashOf(manifest);
    previousHash = manifestHash;
    const data = { ...manifest, manifestHash };
    return { type: 'BatchPlanned', id: derivedId('BatchPlanned', batchId, manifestHash), correlationId: lineageId, data };
  });
}
