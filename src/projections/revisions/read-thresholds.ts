import type { Thresholds } from '../../domain/revision/thresholds.ts';
import type { Db } from '../../postgres/database.ts';

/** Reads the thresholds that the last revision of a run was mined by; null where the run has none. */
export async function readLastThresholds(db: Db, runId: string): Promise<Thresholds | null> {
  const last = await db
    .selectFrom('revisions')
    .select(['alpha', 'beta'])
    .where('runId', '=', runId)
    .orderBy('composedAt', 'desc')
    .orderBy('revisionId', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last ?? null;
}
