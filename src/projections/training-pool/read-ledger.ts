import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

/**
 * The account of a policy's samples: every finished rollout of a run of its channel `train` is trained, rejected, abandoned or
 * owed, and in one of them only. What is owed waits for its group to close, is ready for a batch, is in a planned batch, or
 * in one that a trainer has.
 */
export interface Ledger {
  readonly policyId: string;
  readonly produced: number;
  readonly trained: number;
  /** Reason → samples, by reason. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Samples of batches that were abandoned. */
  readonly abandoned: number;
  readonly owed: { readonly group: number; readonly ready: number; readonly planned: number; readonly leased: number };
  /** produced − trained − rejected − abandoned − owed: always 0, or a sample was lost or counted twice. */
  readonly difference: number;
  /** Samples that batches or rejections name and whose end was not read yet: 0 once the read models have caught up. */
  readonly ahead: number;
  /** Rollouts that began and have not ended: they will be produced. */
  readonly running: number;
}

/** Reads the ledgers of the policies named, or of all, by policy, in one statement and so at one moment. */
export async function readLedgers(db: Db, policies: readonly string[] | 'all'): Promise<readonly Ledger[]> {
  const named = policies === 'all' ? sql`true` : sql`policy_id = any(${[...policies]}::text[])`;
  const { rows } = await sql<Row>`
    with known as (
      select policy_id from lineages where ${named}
      union select policy_id from training_runs r where policy_id is not null and channel = 'train' and ${named} and ${OF_ITS_PROJECT}
      union select policy_id from batches where ${named}
      union select policy_id from sample_rejections where ${named}
    ),
    pool as (
      select r.policy_id, s.rollout_id, s.finished_at is not null as finished, g.closed_at is not null as closed
      from (select * from training_runs r where channel = 'train' and ${named} and ${OF_ITS_PROJECT}) r
      join groups g using (run_id) join samples s using (tree_id)
    ),
    held as (
      select s.rollout_id, b.policy_id,
             case when a.batch_id is not null then 'trained' when x.batch_id is not null then 'abandoned' when l.batch_id is not null then 'leased' else 'planned' end as state
      from (select * from batches where ${named}) b
      join batch_samples s using (batch_id)
      left join batch_acks a using (batch_id)
      left join batch_abandonments x using (batch_id)
      left join (select distinct batch_id from leases where leased_at is not null and ended_at is null) l using (batch_id)
      union all
      select rollout_id, policy_id, reason from sample_rejections where ${named}
    ),
    counted as (
      select p.policy_id, coalesce(h.state, case when p.closed then 'ready' else 'group' end) as state, count(*) as samples
      from pool p left join held h using (policy_id, rollout_id) where p.finished group by 1, 2
      union all
      select policy_id, 'produced', count(*) from pool where finished group by 1
      union all
      select policy_id, 'running', count(*) from pool where not finished group by 1
      union all
      select policy_id, 'ahead', count(*) from held h
      where not exists (select from pool p where p.rollout_id = h.rollout_id and p.policy_id = h.policy_id and p.finished) group by 1
    )
    select k.policy_id, coalesce(jsonb_object_agg(c.state, c.samples) filter (where c.state is not null), '{}') as counts
    from known k left join counted c using (policy_id) group by 1 order by 1`.execute(db);
  return rows.map(toLedger);
}

interface Row {
  readonly policyId: string;
  readonly counts: Readonly<Record<string, number>>;
}

function toLedger({ policyId, counts }: Row): Ledger {
  const {
    produced = 0,
    running = 0,
    ahead = 0,
    trained = 0,
    abandoned = 0,
    group = 0,
    ready = 0,
    planned = 0,
    leased = 0,
    ...rejected
  } = counts;
  const refused = Object.values(rejected).reduce((sum, samples) => sum + samples, 0);
  const owed = { group, ready, planned, leased };
  const difference = produced - trained - refused - abandoned - group - ready - planned - leased;
  return { policyId, produced, trained, rejected, abandoned, owed, difference, ahead, running };
}
