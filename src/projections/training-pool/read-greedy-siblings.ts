import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

/** A group, and the greedy rollout of its task by the same version (ReMax). */
export interface GreedySibling {
  readonly treeId: string;
  readonly rolloutId: string;
  /** The tree that the greedy rollout grew in a run of the channel `baseline`. */
  readonly siblingTreeId: string;
}

/** Reads the greedy rollout of each group of a policy: the first that finished. Groups without one are left out. */
export async function readGreedySiblings(db: Db, policyId: string, trees: readonly string[]): Promise<readonly GreedySibling[]> {
  const { rows } = await sql<GreedySibling>`
    select distinct on (m.tree_id) m.tree_id, s.rollout_id, s.tree_id as sibling_tree_id
    from groups m
    join groups g on g.task_id = m.task_id
    join training_runs r on r.run_id = g.run_id and r.policy_id = ${policyId} and r.channel = 'baseline' and ${OF_ITS_PROJECT}
    join samples s on s.tree_id = g.tree_id
    where m.tree_id = any(${[...trees]}::uuid[]) and s.finished_at is not null and s.oldest_version = s.newest_version
      and s.oldest_version in (select oldest_version from samples where tree_id = m.tree_id and finished_at is not null)
    order by m.tree_id, s.finished_at, s.rollout_id, s.tree_id`.execute(db);
  return rows;
}

/** A closed group that waits for the greedy rollout of its task. */
export interface AwaitingGroup {
  readonly treeId: string;
  readonly alias: string;
}

/**
 * Reads the closed groups of a policy's newest version that no batch holds and no greedy rollout belongs to, by tree. Groups of
 * earlier versions are stale: an estimator that compares so is strictly on-policy.
 */
export async function readAwaitingGreedy(db: Db, policyId: string): Promise<readonly AwaitingGroup[]> {
  const { rows } = await sql<AwaitingGroup>`
    select g.tree_id, t.alias
    from training_runs r join groups g using (run_id) join trees t on t.tree_id = g.tree_id
    where r.policy_id = ${policyId} and r.channel = 'train' and g.closed_at is not null and ${OF_ITS_PROJECT}
      and not exists (select from batch_samples b where b.tree_id = g.tree_id and b.policy_id = r.policy_id)
      and exists (
        select from samples s
        where s.tree_id = g.tree_id and s.finished_at is not null
          and s.oldest_version = (select newest_version from lineages where policy_id = ${policyId})
          and not exists (select from sample_rejections x
            where x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = r.policy_id))
    order by g.tree_id`.execute(db);
  const greedySiblings = await readGreedySiblings(
    db,
    policyId,
    rows.map(({ treeId }) => treeId),
  );
  const served = new Set(greedySiblings.map(({ treeId }) => treeId));
  return rows.filter(({ treeId }) => !served.has(treeId));
}
