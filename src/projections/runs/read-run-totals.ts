import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Tables } from '../../postgres/tables.ts';
import { ofRun } from '../journal/of-run.ts';

/** What a run amounts to so far. Rates and means are null while there is nothing to divide by. */
export interface RunTotals extends Omit<Selectable<Tables['runCounts']>, 'partition' | 'judged'> {
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate: number | null;
  /** Finished rollouts that have a return: what nobody rewarded has none. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
}
export interface DepthTotals {
  readonly runId: string;
  /** The depth that the environment assigns to its task (TextCraft: the depth of the recipe); null when it has none. */
  readonly taskDepth: number | null;
  readonly trees: number;
  readonly tasks: number;
  readonly rollouts: number;
  readonly finished: number;
  readonly successes: number;
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate: number | null;
  /** Those that have a return. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
  /** Of the finished rollouts, from where each began. */
  readonly meanSteps: number | null;
  readonly maxSteps: number | null;
}

/** Adds up what the folds counted of runs, in one statement: a row or a few for each partition. A run without trees has zeros. */
export async function readRunTotals(db: Db, runs: readonly string[]): Promise<readonly RunTotals[]> {
  const { rows } = await sql<RunTotals>`
    select r.run_id, c.trees, c.closed_trees, c.rollouts, c.terminated, c.truncated, c.failed, c.cancelled, c.steps, c.successes,
           c.prompt_tokens, c.completion_tokens, c.unclear_calls, c.lost_parts, v.rewarded, v.mean_return,
           case when c.judged > 0 then c.successes / (c.terminated + c.truncated + c.failed + c.cancelled)::float8 end as success_rate
    from unnest(${[...runs]}::uuid[]) as r(run_id)
    cross join lateral (select ${sql.join(COUNTS.map(summed))} from run_counts where run_id = r.run_id) c
    cross join lateral (
      select coalesce(sum(returns), 0)::bigint as rewarded, (sum(total) / nullif(sum(returns), 0))::float8 as mean_return from run_returns where run_id = r.run_id) v`.execute(
    db,
  );
  return rows;
}

const COUNTS = [
  ...['trees', 'closed_trees', 'rollouts', 'terminated', 'truncated', 'failed', 'cancelled', 'judged', 'successes', 'steps'],
  ...['prompt_tokens', 'completion_tokens', 'unclear_calls', 'lost_parts'],
];
const summed = (column: string) => sql.raw(`coalesce(sum(${column}), 0)::bigint as ${column}`);

/**
 * Sums up the trees and rollouts of runs by the depth of their tasks, shallow first: each tree by itself from what the indexes of
 * trees hold, as a join of all three Postgres reads rollouts and returns whole. Returns are decimals, as those of whole runs are
 * counted (`rewards/count-returns.ts`): one mean in both.
 */
export async function readDepthTotals(db: Db, runs: readonly string[]): Promise<readonly DepthTotals[]> {
  const { rows } = await sql<DepthTotals>`
    select t.run_id, t.task_depth, count(*) as trees, count(distinct t.task_id) as tasks, sum(o.rollouts)::bigint as rollouts,
           sum(o.finished)::bigint as finished, sum(o.successes)::bigint as successes,
           case when sum(o.judged) > 0 then sum(o.successes)::float8 / sum(o.finished)::float8 end as success_rate,
           sum(v.returns)::bigint as rewarded, (sum(v.total) / nullif(sum(v.returns), 0))::float8 as mean_return,
           (sum(o.steps) / nullif(sum(o.walked), 0))::float8 as mean_steps, max(o.longest) as max_steps
    from trees t
    cross join lateral (
      select count(*) as rollouts, count(finished_at) as finished, count(*) filter (where success) as successes, count(success) as judged,
             sum(steps) filter (where finished_at is not null) as steps, count(steps) filter (where finished_at is not null) as walked,
             max(steps) filter (where finished_at is not null) as longest
      from rollouts where tree_id = t.tree_id) o
    cross join lateral (select count(value) as returns, sum(value::text::numeric) as total from returns where tree_id = t.tree_id) v
    where t.run_id = any(${[...runs]}::uuid[])
    group by t.run_id, t.task_depth
    order by t.run_id, t.task_depth nulls last`.execute(db);
  return rows;
}

export interface RecordCounts {
  readonly events: number;
  readonly trees: number;
  readonly rollouts: number;
  readonly steps: number;
  readonly bytes: number;
}

/** Counts what the record holds of a run, in one statement; the roots of its trees are no steps. */
export async function countRecord(db: Db, runId: string): Promise<RecordCounts> {
  const { rows } = await sql<RecordCounts>`
    select j.events, j.bytes,
           (select count(*) from trees where run_id = ${runId})::int as trees,
           (select count(*) from rollouts where run_id = ${runId})::int as rollouts,
           (select count(*) from steps s join trees t using (tree_id) where t.run_id = ${runId} and s.depth > 0)::int as steps
    from (
      select count(*)::int as events, coalesce(sum(octet_length(body)), 0)::float8 as bytes from events e where ${ofRun('e', runId)}
    ) j`.execute(db);
  const counts = rows[0];
  if (!counts) throw new Error('a query of counts returns one row');
  return counts;
}
