import { sql } from 'kysely';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { PlannedBatch } from './protocol.ts';

/** The columns of a planned batch `b` of the lineage `l`. */
export const PLANNED = sql`b.batch_id as planned_batch_id, b.ordinal as planned_ordinal, b.estimator, b.rules, b.seed, b.samples, b.tokens,
  b.manifest_hash, l.trainer`;

/** All null where no batch is planned, or its plan is not folded yet. */
export interface PlannedRow {
  readonly plannedBatchId: string | null;
  readonly plannedOrdinal: number;
  readonly manifestHash: string;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly samples: number;
  readonly tokens: number;
  readonly trainer: unknown;
}

export function plannedBatch(row: PlannedRow): PlannedBatch | null {
  const {
    plannedBatchId: batchId,
    plannedOrdinal: ordinal,
    manifestHash,
    estimator,
    rules,
    seed,
    samples,
    tokens,
    trainer,
  } = row;
  return batchId === null ? null : { batchId, ordinal, estimator, rules, seed, samples, tokens, manifestHash, trainer };
}
