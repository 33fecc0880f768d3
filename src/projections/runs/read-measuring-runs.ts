import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Why a run measures: it is an evaluation, or of another channel than `train`. */
export type MeasuringRun = 'evaluation' | 'other-channel';

/**
 * Reads the runs that measure: evaluations, and runs of another channel than `train`. A run without a channel was collected to
 * learn from.
 */
export async function readMeasuringRuns(db: Db): Promise<ReadonlyMap<string, MeasuringRun>> {
  const { rows } = await sql<{ runId: string; kind: MeasuringRun }>`
    select run_id, case when kind = 'evaluate' then 'evaluation' else 'other-channel' end as kind from runs
    where kind = 'evaluate' or config #>> '{training,channel}' <> 'train'`.execute(db);
  return new Map(rows.map(({ runId, kind }) => [runId, kind]));
}
