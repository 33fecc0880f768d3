import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What the samples of a batch amounted to, and how long its trainer had it. */
export interface BatchOutcome {
  readonly batchId: string;
  /** Successes per sample; null where the environment judges none. */
  readonly successRate: number | null;
  /** Samples with a reward in force; the mean is of the sums of theirs. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
  /** The mean of versions between the oldest span of a sample and the version that the batch was trained on. */
  readonly staleness: number | null;
  /** Tokens that a policy sampled. */
  readonly sampledTokens: number;
  /** From the lease that ended with the update to its end; null where no such lease is known. */
  readonly trainedMs: number | null;
}

/** A sample comes once for each component of its scores, or once. */
const ONCE = sql`coalesce(e.place, 1) = 1`;

/**
 * Sums up batches over their samples, in one statement, in no order; a batch without a finished sample is left out.
 * Samples are looked up tree by tree, all of a group at once: a join reads the table of all. Scores are decimals, whose sum is
 * the same in any order.
 */
export async function readBatchOutcomes(db: Db, batches: readonly string[]): Promise<readonly BatchOutcome[]> {
  const { rows } = await sql<BatchOutcome>`
    select p.batch_id, o.*,
           (select extract(epoch from max(l.ended_at - l.leased_at)) * 1000 from leases l
            where l.batch_id = p.batch_id and l.ended_by = 'acked')::float8 as trained_ms
    from batches p cross join lateral (
      select case when count(s.success) filter (where ${ONCE}) > 0
               then (count(*) filter (where s.success and ${ONCE}))::float8 / count(*) filter (where ${ONCE}) end as success_rate,
             count(*) filter (where e.place = 1) as rewarded,
             (sum(e.value::numeric) / nullif(count(*) filter (where e.place = 1), 0))::float8 as mean_return,
             (avg(p.policy_version - s.oldest_version) filter (where ${ONCE}))::float8 as staleness,
             (sum(s.sampled_tokens) filter (where ${ONCE}))::bigint as sampled_tokens
      from (
        select s.success, s.oldest_version, s.sampled_tokens, s.scores
        from (select i.tree_id, array_agg(i.rollout_id) as ids from batch_samples i where i.batch_id = p.batch_id group by 1 offset 0) b
        cross join lateral (
          select * from samples s where s.tree_id = b.tree_id and s.rollout_id = any(b.ids) and s.finished_at is not null offset 0) s
        offset 0) s
      left join lateral jsonb_each_text(s.scores) with ordinality e (component, value, place) on true
      having count(*) > 0) o
    where p.batch_id = any(${[...batches]}::uuid[])`.execute(db);
  return rows;
}
