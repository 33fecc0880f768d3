import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What the samples of a batch amounted to, and how long its trainer had it. */
export interface BatchOutcome {
  readonly batchId: string;
  /** Successes per sample; null where the environment judges none. */
  readonly successRate: number | null;
  /** The mean of the sums of their rewards in force. */
  readonly meanReturn: number | null;
  /** The mean of versions between the oldest span of a sample and the version that the batch was trained on. */
  readonly staleness: number | null;
  /** Tokens that a policy sampled. */
  readonly sampledTokens: number;
  /** From the lease that ended with the update to its end; null where no such lease is known. */
  readonly trainedMs: number | null;
}

/** Sums up batches over their samples, in one statement, in no order; a batch without a finished sample is left out. */
export async function readBatchOutcomes(db: Db, batches: readonly string[]): Promise<readonly BatchOutcome[]> {
  const { rows } = await sql<BatchOutcome>`
    select b.batch_id,
           case when count(s.success) > 0 then (count(*) filter (where s.success))::float8 / count(*) end as success_rate,
           avg((select coalesce(sum(value::float8), 0) from jsonb_each_text(s.scores))) as mean_return,
           avg(p.policy_version - s.oldest_version)::float8 as staleness, sum(s.sampled_tokens)::bigint as sampled_tokens,
           (select extract(epoch from max(l.ended_at - l.leased_at)) * 1000 from leases l
            where l.batch_id = b.batch_id and l.ended_by = 'acked')::float8 as trained_ms
    from batches p join batch_samples b using (batch_id) join samples s using (rollout_id)
    where b.batch_id = any(${[...batches]}::uuid[]) and s.finished_at is not null
    group by b.batch_id`.execute(db);
  return rows;
}
