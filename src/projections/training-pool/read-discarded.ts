import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';
import { KEPT_OF_OWN, LOOSE_OF_OWN, lengthOf } from './settled-samples.ts';

/** What samples are counted by: their task, how many actions they took, the oldest version that acted in them. */
export type DiscardedBy = 'task' | 'length' | 'version';

/** The samples of a policy that share a property, and how many of them are lost: rejected, or in a batch that was abandoned. */
export interface DiscardedPart {
  /** The id of the task, the fewest actions, the version; null where a sample has none. */
  readonly key: string | null;
  /** The group of one of them, the first by its id. */
  readonly treeId: string;
  readonly produced: number;
  readonly discarded: number;
  /** Groups that they belong to: their members are often rejected together. */
  readonly groups: number;
  /** Reason → samples: of rejections, and `abandoned`. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** What samples are grouped by, where they are counted and where they are not; lengths by powers of two, up to the next. */
const KEYS = {
  task: { counted: sql`k.task_id`, of: sql`g.task_id` },
  length: { counted: sql`k.length`, of: lengthOf(sql`s.taken`) },
  version: { counted: sql`nullif(k.version, -1)`, of: sql`s.oldest_version` },
} as const;

/**
 * Counts the finished samples of a policy by a property, with those that were rejected or abandoned, in one statement: tasks with
 * the most such ones first, lengths and versions in their order. @param first how many parts at most.
 */
export async function readDiscarded(db: Db, policyId: string, by: DiscardedBy, first: number): Promise<readonly DiscardedPart[]> {
  const order = by === 'task' ? sql`p.discarded desc, key` : sql`p.part nulls first`;
  const { rows } = await sql<DiscardedPart>`
    with own as materialized (
      select r.run_id, r.policy_id from training_runs r where r.policy_id = ${policyId} and r.channel = 'train' and ${OF_ITS_PROJECT}
    ),
    ${KEPT_OF_OWN},
    ${LOOSE_OF_OWN},
    counted as (
      select ${KEYS[by].counted} as part, k.tree_id, nullif(k.fate, 'trained') as reason, k.samples from kept k where k.fate <> 'running'
      union all
      select ${KEYS[by].of}, l.tree_id, coalesce(x.reason, case when a.batch_id is not null then 'abandoned' end), count(*)
      from loose l
      cross join lateral (select g.task_id from groups g where g.tree_id = l.tree_id offset 0) g
      cross join lateral (select * from samples s where s.tree_id = l.tree_id and s.finished_at is not null offset 0) s
      left join lateral (
        select x.reason from sample_rejections x
        where x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = l.policy_id offset 0) x on true
      left join lateral (
        select a.batch_id from batch_samples i join batch_abandonments a using (batch_id)
        where i.rollout_id = s.rollout_id and i.tree_id = s.tree_id and i.policy_id = l.policy_id offset 0) a on true
      group by 1, 2, 3
    ),
    parts as (
      select part, min(tree_id::text collate "C") as tree_id, sum(samples)::bigint as produced,
             coalesce(sum(samples) filter (where reason is not null), 0)::bigint as discarded, count(distinct tree_id) as groups
      from counted group by part
    ),
    why as (
      select part, jsonb_object_agg(reason, samples) as reasons
      from (select part, reason, sum(samples)::bigint as samples from counted where reason is not null group by 1, 2) c
      group by part
    )
    select p.part::text as key, p.tree_id, p.produced, p.discarded, p.groups, coalesce(w.reasons, '{}') as reasons
    from parts p left join why w on coalesce(w.part::text, '') = coalesce(p.part::text, '')
    order by ${order} limit ${first}`.execute(db);
  return rows;
}
