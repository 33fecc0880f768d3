import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';
import { KEPT_OF_OWN, LOOSE_OF_OWN } from './settled-samples.ts';

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

/**
 * Reads the ledgers of the policies named, or of all, by policy, in one statement and so at one moment. What is settled was
 * counted by the folds; of the rest every sample looks up what holds it by its id: joins of common table expressions are planned
 * from guessed sizes, as nested loops over all pairs, and joins of tables read them whole.
 */
export async function readLedgers(db: Db, policies: readonly string[] | 'all'): Promise<readonly Ledger[]> {
  const named = policies === 'all' ? sql`true` : sql`policy_id = any(${[...policies]}::text[])`;
  const { rows } = await sql<Row>`
    with own as materialized (
      select r.run_id, r.policy_id from training_runs r
      where policy_id is not null and channel = 'train' and ${named} and ${OF_ITS_PROJECT}
    ),
    own_batches as materialized (
      select b.batch_id, b.policy_id, i.samples,
             case when a.batch_id is not null then 'trained' when x.batch_id is not null then 'abandoned'
                  when exists (select from leases l where l.batch_id = b.batch_id and l.leased_at is not null and l.ended_at is null) then 'leased'
                  else 'planned' end as state
      from (select * from batches where ${named}) b
      cross join lateral (select count(*) as samples from batch_samples i where i.batch_id = b.batch_id offset 0) i
      left join batch_acks a using (batch_id) left join batch_abandonments x using (batch_id)
    ),
    known as (
      select policy_id from lineages where ${named}
      union select policy_id from own union select policy_id from own_batches
      union select policy_id from sample_rejections where ${named}
    ),
    ${KEPT_OF_OWN},
    ${LOOSE_OF_OWN},
    pool as materialized (
      select l.policy_id, s.finished_at is not null as finished, l.closed, b.state as held, j.reason, count(*) as samples
      from loose l
      cross join lateral (select s.rollout_id, s.tree_id, s.finished_at from samples s where s.tree_id = l.tree_id offset 0) s
      left join lateral (select i.batch_id from batch_samples i where i.rollout_id = s.rollout_id and i.tree_id = s.tree_id and i.policy_id = l.policy_id offset 0) i on true
      left join own_batches b on b.batch_id = i.batch_id
      left join lateral (
        select j.reason from sample_rejections j
        where j.rollout_id = s.rollout_id and j.tree_id = s.tree_id and j.policy_id = l.policy_id offset 0) j on true
      group by 1, 2, 3, 4, 5
      union all
      select policy_id, fate <> 'running', true, case when fate in ('trained', 'abandoned') then fate end,
             case when fate not in ('running', 'trained', 'abandoned') then fate end, sum(samples)
      from kept group by policy_id, fate
    ),
    parts as (
      select policy_id, 'running' as state, samples from pool where not finished
      union all select policy_id, 'produced', samples from pool where finished
      union all select policy_id, held, samples from pool where finished and held is not null
      union all select policy_id, reason, samples from pool where finished and reason is not null
      union all
      select policy_id, case when closed then 'ready' else 'group' end, samples from pool where finished and held is null and reason is null
      union all
      select policy_id, 'ahead', -samples * (num_nonnulls(held, reason)) from pool where finished and num_nonnulls(held, reason) > 0
      union all
      select policy_id, 'ahead', sum(samples) from own_batches group by 1
      union all
      select policy_id, 'ahead', count(*) from sample_rejections where ${named} group by 1
    ),
    counted as (select policy_id, state, sum(samples)::bigint as samples from parts group by 1, 2)
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
