import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';
import { KEPT_OF_OWN, LOOSE_OF_OWN } from './settled-samples.ts';

/** The groups of a policy's runs of the channel `train`, counted. */
export interface GroupCounts {
  /** Runs that feed the policy, and those of them that are not over. */
  readonly runs: number;
  readonly openRuns: number;
  /** Groups whose members are not all terminal, in runs that are not over; the others are closed. */
  readonly open: number;
  readonly closed: number;
  /** Closed groups of which every finished member was rejected, by the reason that most of them were rejected for. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Members that open groups still lack, a number for each group, the least first; at most 5,000 groups. */
  readonly missing: readonly number[];
}

const MOST_GROUPS = 5_000; // of one batch

/** Counts the groups of a policy in one statement, which reads the members of those that are open or owed. */
export async function readGroupCounts(db: Db, policyId: string): Promise<GroupCounts> {
  const { rows } = await sql<GroupCounts>`
    with own as materialized (
      select * from training_runs r where policy_id = ${policyId} and channel = 'train' and ${OF_ITS_PROJECT}
    ),
    ${KEPT_OF_OWN},
    ${LOOSE_OF_OWN},
    ended as (
      select l.tree_id, l.closed or r.finished_at is not null as closed from loose l join groups g using (tree_id) join own r using (run_id)
    ),
    refused as (
      select reason, count(*) as groups from (
        select (array_agg(fate order by samples desc, fate))[1] as reason
        from (select tree_id, fate, sum(samples) as samples from kept where fate <> 'running' group by 1, 2) k
        group by tree_id having bool_and(fate not in ('trained', 'abandoned'))
        union all
        select c.reason from (select tree_id from ended where closed offset 0) m
        cross join lateral (
          select count(s.finished_at) as finished, count(x.rollout_id) as rejected, mode() within group (order by x.reason) as reason
          from (select * from samples s where s.tree_id = m.tree_id offset 0) s
          left join lateral (select * from sample_rejections x
            where x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = ${policyId} offset 0) x on true) c
        where c.finished > 0 and c.rejected >= c.finished) each
      group by 1
    ),
    lacking as (
      select greatest(coalesce(g.planned_rollouts, 1) - c.finished, 1) as members
      from (select g.* from ended e join groups g using (tree_id) where not e.closed offset 0) g
      cross join lateral (select count(s.finished_at) as finished from samples s where s.tree_id = g.tree_id offset 0) c
      order by 1 limit ${MOST_GROUPS}
    )
    select (select count(*) from own) as runs, (select count(*) from own where finished_at is null) as open_runs,
           (select count(*) from ended where not closed) as open,
           (select count(distinct tree_id) from kept) + (select count(*) from ended where closed) as closed,
           (select coalesce(jsonb_object_agg(reason, groups), '{}') from refused) as rejected,
           (select coalesce(jsonb_agg(members order by members), '[]') from lacking) as missing`.execute(db);
  return rows[0] as GroupCounts; // a select of aggregates has one row
}

/** Reads the policies that were declared or have a version, the newest first: at most 1,000. */
export async function readPolicyNames(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ policyId: string }>`
    select policy_id from (
      select policy_id, max(declared_at) as at from (
        select policy_id, declared_at from lineages union all select policy_id, updated_at from policy_versions where version = 0
      ) known group by 1
    ) named order by at desc, policy_id limit 1000`.execute(db);
  return rows.map(({ policyId }) => policyId);
}

/** Reads who has the next batch of a policy, and until when; undefined where nobody has it. */
export async function readNextLease(
  db: Db,
  policyId: string,
  ordinal: number,
): Promise<{ readonly consumer: string | null; readonly deadline: Date | null } | undefined> {
  const { rows } = await sql<{ consumer: string | null; deadline: Date | null }>`
    select l.consumer, l.deadline from batches b join leases l using (batch_id)
    where b.policy_id = ${policyId} and b.ordinal = ${ordinal} and l.leased_at is not null and l.ended_at is null
    order by l.fence desc limit 1`.execute(db);
  return rows[0];
}
