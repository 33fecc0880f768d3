import { sql } from 'kysely';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

/** Reads the id of the run that was the first to collect for a policy; null where none did. */
export async function readFirstTrainingRun(db: Db, policyId: string): Promise<string | null> {
  const { rows } = await sql<{ runId: string }>`
    select r.run_id from training_runs r where r.policy_id = ${policyId} and ${OF_ITS_PROJECT}
    order by r.started_at limit 1`.execute(db);
  return rows[0]?.runId ?? null;
}

/** Reads the estimator that the policy of a run is trained by; null where the run trains none. */
export async function readEstimatorOfRun(db: Db, runId: string): Promise<Method | null> {
  const { rows } = await sql<{ estimator: Method }>`
    select l.estimator from training_runs r join lineages l on l.policy_id = r.policy_id where r.run_id = ${runId} and ${OF_ITS_PROJECT}`.execute(
    db,
  );
  return rows[0]?.estimator ?? null;
}
