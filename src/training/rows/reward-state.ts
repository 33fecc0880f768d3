import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { readGreedySiblings } from '../../projections/training-pool/read-greedy-siblings.ts';

/** What a statement says of the rewards of a batch, next to what else it asks for. */
export interface RewardStateRow {
  readonly state: string;
  readonly comparedBy: string | null;
}

/** The columns of `RewardStateRow`. @param batchId a value, or a column of the statement. */
export function rewardStateOf(batchId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    (select concat(count(*), ' ', coalesce(sum(r.revisions), 0), ' ', (select count(*) from public.stream_keys where secret is null))
      from (select distinct tree_id from batch_samples where batch_id = ${batchId}) trees
      cross join lateral (select revisions from rewards where tree_id = trees.tree_id offset 0) r) as state, -- a join reads all rewards
    (select c.policy_id from batches c where c.batch_id = ${batchId}
      and exists (select from training_runs t where t.policy_id = c.policy_id and t.channel = 'baseline')) as compared_by`;
}

/**
 * Returns a text that changes whenever something is forgotten, or a reward of a batch's groups is assigned or revised, or one of
 * the greedy rollouts that they are compared with (ReMax): all of them are only ever counted up.
 */
export async function readRewardState(db: Db, batchId: string): Promise<string> {
  const { rows } = await sql<RewardStateRow>`select ${rewardStateOf(sql`${batchId}::uuid`)}`.execute(db);
  return wholeRewardState(db, batchId, rows[0]);
}

/** Returns the same from what a statement said; more is asked for where the batch is compared with greedy rollouts. */
export async function wholeRewardState(db: Db, batchId: string, row: RewardStateRow | undefined): Promise<string> {
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
