import { sql } from 'kysely';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import type { PlannedBatch } from './protocol.ts';

/** Reads the batch of a lineage under its ordinal; undefined while it is not planned, or its plan is not folded yet. */
export async function readPlannedBatch(db: Db, lineageId: string, ordinal: number): Promise<PlannedBatch | undefined> {
  const { rows } = await sql<Row>`
    select b.batch_id, b.ordinal, b.estimator, b.rules, b.seed, b.samples, b.tokens, b.manifest_hash, l.trainer
    from batches b left join lineages l on l.lineage_id = b.lineage_id
    where b.lineage_id = ${lineageId}::uuid and b.ordinal = ${ordinal}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { batchId, manifestHash, estimator, rules, seed, samples, tokens, trainer } = row;
  return { batchId, ordinal: row.ordinal, estimator, rules, seed, samples, tokens, manifestHash, trainer };
}

interface Row {
  readonly batchId: string;
  readonly ordinal: number;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly samples: number;
  readonly tokens: number;
  readonly manifestHash: string;
  readonly trainer: unknown;
}
