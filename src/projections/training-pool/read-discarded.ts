import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

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

/** What samples are grouped by, and what that is counted as: lengths by powers of two, from the power up to the next. */
const KEYS = {
  task: { of: sql`g.task_id`, as: sql`c.part::text` },
  length: { of: sql`s.taken`, as: sql`case when c.part < 1 then 0 else power(2, floor(log(2, c.part)))::integer end` },
  version: { of: sql`s.oldest_version`, as: sql`c.part` },
} as const;

/**
 * Counts the finished samples of a policy by a property, with those that were rejected or abandoned, in one statement over all
 * of them: tasks with the most such ones first, lengths and versions in their order. @param first how many parts at most.
 */
export async function readDiscarded(db: Db, policyId: string, by: DiscardedBy, first: number): Promise<readonly DiscardedPart[]> {
  const order = by === 'task' ? sql`p.discarded desc, p.key` : sql`p.key nulls first`;
  const { rows } = await sql<DiscardedPart>`
    with counted as (
      select ${KEYS[by].of} as part, s.tree_id, coalesce(x.reason, case when a.rollout_id is not null then 'abandoned' end) as reason,
             count(*) as samples
      from training_runs r join groups g using (run_id) join samples s using (tree_id)
      left join sample_rejections x on x.rollout_id = s.rollout_id and x.policy_id = r.policy_id
      left join (
        select i.rollout_id, b.policy_id from batch_abandonments a join batches b using (batch_id) join batch_samples i using (batch_id)
      ) a on a.rollout_id = s.rollout_id and a.policy_id = r.policy_id
      where r.policy_id = ${policyId} and r.channel = 'train' and s.finished_at is not null and ${OF_ITS_PROJECT}
      group by 1, 2, 3
    ),
    pool as (select ${KEYS[by].as} as key, c.tree_id, c.reason, c.samples from counted c),
    parts as (
      select key, min(tree_id::text collate "C") as tree_id, sum(samples)::bigint as produced,
             coalesce(sum(samples) filter (where reason is not null), 0)::bigint as discarded, count(distinct tree_id) as groups
      from pool group by key
    ),
    why as (
      select key, jsonb_object_agg(reason, samples) as reasons
      from (select coalesce(key::text, '') as key, reason, sum(samples)::bigint as samples from pool where reason is not null group by 1, 2) c
      group by key
    )
    select p.key::text as key, p.tree_id, p.produced, p.discarded, p.groups, coalesce(w.reasons, '{}') as reasons
    from parts p left join why w on w.key = coalesce(p.key::text, '')
    order by ${order} limit ${first}`.execute(db);
  return rows;
}
