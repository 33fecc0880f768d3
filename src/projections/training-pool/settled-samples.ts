import { type RawBuilder, sql } from 'kysely';
import type { Db, Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';

/** The fewest actions of the lengths that samples are counted by: powers of two. @param steps of a sample. */
export function lengthOf(steps: RawBuilder<unknown>): RawBuilder<unknown> {
  // the highest bit: the logarithm of a decimal takes 22 µs, this 0.3
  return sql`case when ${steps} < 1 then 0 else 1 << (32 - position(B'1' in ${steps}::bit(32))) end`;
}

/**
 * What became of the samples of a group `t`, counted: nothing where one of them is owed, or where something is said of one that
 * has not ended. A sample has one end, so that nothing but an event of its tree behind the close changes what is counted here.
 */
const SETTLED = sql`
    select p.*, bool_and(p.fate is not null) over () as settled from (
      select case
          when s.finished_at is null then case when num_nonnulls(x.rollout_id, i.rollout_id) = 0 then 'running' end
          when i.rollout_id is null then x.reason
          when x.rollout_id is null then
            case when exists (select from batch_acks a where a.batch_id = i.batch_id) then 'trained'
                 when exists (select from batch_abandonments a where a.batch_id = i.batch_id) then 'abandoned' end
        end as fate, ${lengthOf(sql`s.taken`)} as length, coalesce(s.oldest_version, -1) as version, count(*) as samples
      from (select * from samples s where s.tree_id = t.tree_id offset 0) s
      left join lateral (select * from sample_rejections x
        where x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = t.policy_id offset 0) x on true
      left join lateral (select * from batch_samples i
        where i.rollout_id = s.rollout_id and i.tree_id = s.tree_id and i.policy_id = t.policy_id offset 0) i on true
      group by 1, 2, 3) p offset 0`;

const COLUMNS = sql`run_id, tree_id, task_id, fate, length, version, samples`;

/** Returns the full count of groups, as rows of `settled_samples`. @param trees a relation with their ids. */
export function countedSettled(trees: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select t.run_id, t.tree_id, t.task_id, p.fate, p.length, p.version, p.samples from (
      select g.run_id, g.tree_id, g.task_id, r.policy_id from ${trees} c join groups g using (tree_id) join training_runs r using (run_id)
      where g.closed_at is not null and r.channel = 'train' and r.policy_id is not null offset 0) t
    cross join lateral (${SETTLED}) p where p.settled`;
}

const listed = (trees: readonly string[]) => sql`(select tree_id from unnest(${[...trees]}::uuid[]) as u (tree_id))`;

/**
 * Locks the closed ones among groups until the end of the transaction, and returns them. Who changes the samples of a closed
 * group holds it, as who counts them does: otherwise a count could miss what another transaction is about to commit. @param trees
 * an array of their ids.
 */
export async function lockClosed(trx: Trx, trees: RawBuilder<string[]>): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom('groups')
    .select('treeId')
    .where(sql<boolean>`tree_id = any(${trees})`)
    .where('closedAt', 'is not', null)
    .orderBy('treeId')
    .forUpdate()
    .execute();
  return rows.map(({ treeId }) => treeId);
}

/** Counts groups again that the transaction has locked, or closed itself; what is counted of those that are owed goes. */
export async function settleGroups(trx: Trx, trees: readonly string[]): Promise<void> {
  if (trees.length === 0) return;
  await sideBySide(
    () =>
      sql`delete from settled_samples k using groups g
        where g.tree_id = any(${[...trees]}::uuid[]) and k.run_id = g.run_id and k.tree_id = g.tree_id`.execute(trx),
    () => sql`insert into settled_samples (${COLUMNS}) ${countedSettled(listed(trees))}`.execute(trx),
  );
}

/**
 * Counts the closed groups of all runs that are not counted, run by run, while folds go on: where a fold of training and one of
 * trees each saw the half of a group, neither counted it.
 */
export async function settleRuns(db: Db): Promise<void> {
  const runs = await db.selectFrom('trainingRuns').select('runId').where('channel', '=', 'train').orderBy('runId').execute();
  for (const { runId } of runs)
    await db.transaction().execute(async (trx) => {
      const missing = sql`not exists (select from settled_samples k where k.run_id = g.run_id and k.tree_id = g.tree_id)`;
      const trees = await lockClosed(
        trx,
        sql`array(select g.tree_id from groups g where g.run_id = ${runId}::uuid and ${missing})`,
      );
      await settleGroups(trx, trees);
    });
}

/** Returns the runs of which something else is counted than a full count of the same groups finds. */
export async function findMissettled(trx: Trx): Promise<readonly string[]> {
  const full = countedSettled(sql`(select distinct tree_id from settled_samples)`);
  const { rows } = await sql<{ runId: string }>`
    with kept as (select ${COLUMNS} from settled_samples), counted as (${full})
    select distinct run_id from ((select * from kept except select * from counted) union all
      (select * from counted except select * from kept)) d order by 1`.execute(trx);
  return rows.map(({ runId }) => runId);
}

/** The counts that are kept of runs `own`, as a common table expression: each run is looked up, a join would read the table. */
export const KEPT_OF_OWN = sql`kept as materialized (
      select r.policy_id, k.* from own r cross join lateral (select k.* from settled_samples k where k.run_id = r.run_id offset 0) k
    )`;

/** The groups of runs `own` that are not counted: those that are open or owed, and what two folds each saw half of. */
export const LOOSE_OF_OWN = sql`loose as materialized (
      select r.policy_id, g.tree_id, g.closed_at is not null as closed from own r cross join lateral (
        select g.tree_id, g.closed_at from groups g where g.run_id = r.run_id
          and not exists (select from settled_samples k where k.run_id = g.run_id and k.tree_id = g.tree_id) offset 0) g
    )`;
