import { sql } from 'kysely';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';

/** Reads the id of the run that was the first to collect for a policy; null where none did. */
export async function readFirstTrainingRun(db: Db, policyId: string): Promise<string | null> {
  const run = await db
    .selectFrom('trainingRuns')
    .select('runId')
    .where('policyId', '=', policyId)
    .orderBy('startedAt')
    .executeTakeFirst();
  return run?.runId ?? null;
}

/** Reads the estimator that the policy of a run is trained by; null where the run trains none. */
export async function readEstimatorOfRun(db: Db, runId: string): Promise<Method | null> {
  const { rows } = await sql<{ estimator: Method }>`
    select l.estimator from training_runs r join lineages l on l.policy_id = r.policy_id where r.run_id = ${runId}`.execute(db);
  return rows[0]?.estimator ?? null;
}
