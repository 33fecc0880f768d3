import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

/** Reads the id of the run that was the first to collect for a policy; null where none did. */
export async function readFirstTrainingRun(db: Db, policyId: string): Promise<string | null> {
  const runs = db.selectFrom('trainingRuns as r').where('r.policyId', '=', policyId).where(OF_ITS_PROJECT);
  return (await runs.select('r.runId').orderBy('r.startedAt').limit(1).executeTakeFirst())?.runId ?? null;
}

/** Reads the estimator that the policy of a run is trained by; null where the run trains none. */
export async function readEstimatorOfRun(db: Db, runId: string): Promise<Method | null> {
  const runs = db.selectFrom('trainingRuns as r').innerJoin('lineages as l', 'l.policyId', 'r.policyId');
  const row = await runs.select('l.estimator').where('r.runId', '=', runId).where(OF_ITS_PROJECT).executeTakeFirst();
  return row === undefined ? null : (row.estimator as Method);
}
