import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Reads the runs that began with a policy and act in an environment, the last to start first, at most so many. */
export async function readRunIdsOf(
  db: Db,
  { policyId, environment }: { readonly policyId?: string; readonly environment?: string },
  limit: number,
): Promise<readonly string[]> {
  const of = [sql`true`];
  if (policyId !== undefined) of.push(sql`r.policy_id = ${policyId}`);
  if (environment !== undefined) of.push(sql`r.environments @> ${JSON.stringify([{ environment }])}::jsonb`);
  const { rows } = await sql<{ runId: string }>`
    select r.run_id from runs r where ${sql.join(of, sql` and `)} order by r.started_at desc, r.run_id limit ${limit}`.execute(
    db,
  );
  return rows.map(({ runId }) => runId);
}
