import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';
import { trainingPool } from './training-pool.ts';

export interface OwedGroup {
  readonly treeId: string;
  readonly owed: boolean;
  readonly closed: boolean;
  /** The version that its first rollout began with; null before one began. */
  readonly version: number | null;
}

export interface OwedGroups {
  /** The newest version of the policy; 0 before its first. */
  readonly newest: number;
  readonly groups: readonly OwedGroup[];
  /** How far the pool has folded the log: `topic.partition` → next offset. */
  readonly cursors: Readonly<Record<string, number>>;
}

/**
 * Reads the newest version, how far the pool has folded the log and, of the same moment, the groups of a policy that are owed:
 * open, or with a sample that is neither rejected nor in a batch that was abandoned or that produced a version. @param also trees
 * that are returned whether they are owed or not, if they are known.
 */
export async function readOwedGroups(db: Db, policyId: string, also: readonly string[]): Promise<OwedGroups> {
  const { rows } = await sql<Row>`
    with own as (
      select g.tree_id, g.closed_at is not null as closed, g.closed_at is null or exists (
          select from samples s
          where s.tree_id = g.tree_id
            and not exists (select from sample_rejections j
              where j.rollout_id = s.rollout_id and j.tree_id = s.tree_id and j.policy_id = r.policy_id)
            and not exists (
              select from batch_samples b join policy_versions v on v.batch_id = b.batch_id
              where b.rollout_id = s.rollout_id and b.tree_id = s.tree_id and b.policy_id = r.policy_id)
            and not exists (
              select from batch_samples b join batch_abandonments x on x.batch_id = b.batch_id
              where b.rollout_id = s.rollout_id and b.tree_id = s.tree_id and b.policy_id = r.policy_id)
        ) as owed
      from groups g join training_runs r on r.run_id = g.run_id
      where r.policy_id = ${policyId} and r.channel = 'train' and ${OF_ITS_PROJECT}
    )
    select coalesce((select max(version) from policy_versions where policy_id = ${policyId}), 0)::int as newest,
           (select coalesce(jsonb_object_agg(c.topic || '.' || c.partition, c.next_offset), '{}') from cursors c
            join projections p on p.name = c.projection and p.version = c.version where c.projection = ${trainingPool.name}) as cursors,
           o.tree_id, coalesce(o.owed, false) as owed, coalesce(o.closed, false) as closed,
           (select min(policy_version) from samples s where s.tree_id = o.tree_id) as version
    from (select 1) one left join own o on o.owed or o.tree_id = any(${[...also]}::uuid[])`.execute(db);
  const groups = rows.flatMap(({ treeId, owed, closed, version }) =>
    treeId === null ? [] : [{ treeId, owed, closed, version }],
  );
  return { newest: rows[0]?.newest ?? 0, groups, cursors: rows[0]?.cursors ?? {} };
}

/** The outer join produces one row, without a tree, for a policy without such groups. */
interface Row {
  readonly newest: number;
  readonly cursors: Readonly<Record<string, number>>;
  readonly treeId: string | null;
  readonly owed: boolean;
  readonly closed: boolean;
  readonly version: number | null;
}
