import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Reads the runs that began with a policy and act in an environment, the last to start first, at most so many. */
export async function readRunIdsOf(
  db: Db,
  { policyId, environment }: { readonly policyId?: string; readonly environment?: string },
  limit: number,
): Promise<readonly string[]> {
  let runs = db.selectFrom('runs').select('runId').orderBy('startedAt', 'desc').orderBy('runId').limit(limit);
  if (policyId !== undefined) runs = runs.where('policyId', '=', policyId);
  if (environment !== undefined) runs = runs.where(sql<boolean>`environments @> ${JSON.stringify([{ environment }])}::jsonb`);
  return (await runs.execute()).map(({ runId }) => runId);
}
