import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** How many leases of a policy ended in a way; `held` have not ended. */
interface LeaseCount {
  readonly policyId: string;
  readonly state: 'held' | 'expired' | 'returned' | 'acked' | 'abandoned';
  readonly leases: number;
}

/** Counts the leases of every declared policy by how they ended; 0 where none did. */
export async function countLeases(db: Db): Promise<readonly LeaseCount[]> {
  const { rows } = await sql<LeaseCount>`
    select p.policy_id, s.state, count(l.lease_id)::int as leases
    from (select policy_id from lineages union select policy_id from leases) p
    cross join unnest(array['held', 'expired', 'returned', 'acked', 'abandoned']) as s (state)
    left join leases l on l.policy_id = p.policy_id and coalesce(l.ended_by, 'held') = s.state
    group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

/** Reads how long the oldest batch of each policy has waited for its version, in seconds. */
export async function readOldestBatches(db: Db): Promise<readonly { readonly policyId: string; readonly seconds: number }[]> {
  const { rows } = await sql<{ policyId: string; seconds: number }>`
    select b.policy_id, extract(epoch from clock_timestamp() - min(b.planned_at))::float8 as seconds from batches b
    where not exists (select from batch_acks a where a.batch_id = b.batch_id)
      and not exists (select from batch_abandonments a where a.batch_id = b.batch_id)
    group by 1 order by 1`.execute(db);
  return rows;
}
