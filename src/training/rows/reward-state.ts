import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { readGreedySiblings } from '../../projections/training-pool/read-greedy-siblings.ts';

/**
 * Returns a text that changes whenever a reward of a batch's groups is assigned or revised, or one of the greedy rollouts that
 * they are compared with (ReMax): both are only ever counted up.
 */
export async function readRewardState(db: Db, batchId: string): Promise<string> {
  const { rows } = await sql<{ state: string; comparedBy: string | null }>`
    select concat(count(*), ' ', coalesce(sum(r.revisions), 0)) as state, (
      select b.policy_id from batches b where b.batch_id = ${batchId}::uuid
        and exists (select from training_runs t where t.policy_id = b.policy_id and t.channel = 'baseline')) as compared_by
    from (select distinct tree_id from batch_samples where batch_id = ${batchId}::uuid) g join rewards r on r.tree_id = g.tree_id`.execute(
    db,
  );
  const [row] = rows;
  const greedy = row?.comparedBy ? await readGreedyState(db, row.comparedBy, batchId) : [];
  return [row?.state ?? '', ...greedy].join(' ');
}

async function readGreedyState(db: Db, policyId: string, batchId: string): Promise<readonly string[]> {
  const trees = await db.selectFrom('batchSamples').select('treeId').distinct().where('batchId', '=', batchId).execute();
  const siblings = await readGreedySiblings(
    db,
    policyId,
    trees.map(({ treeId }) => treeId),
  );
  if (siblings.length === 0) return [];
  const greedy = siblings.map(({ siblingTreeId }) => siblingTreeId);
  const { count, revised } = await db
    .selectFrom('rewards')
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum('revisions').as('revised')])
    .where('treeId', 'in', greedy)
    .executeTakeFirstOrThrow();
  return [...siblings.map(({ rolloutId }) => rolloutId).sort(), `${count}`, `${revised}`];
}
