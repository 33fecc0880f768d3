import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { EVENTS_OF_RUNS } from '../journal/count-of-runs.ts';
import { findMissettled } from '../training-pool/settled-samples.ts';

/** Counts that folds keep of runs: the table, and the full count that it stands for. A tree lies where its first event does. */
export const KEPT_COUNTS = [
  {
    table: 'run_counts',
    columns: [
      ...['run_id', 'partition', 'trees', 'closed_trees', 'rollouts', 'terminated', 'truncated', 'failed', 'cancelled', 'judged'],
      ...['successes', 'steps', 'prompt_tokens', 'completion_tokens', 'unclear_calls', 'lost_parts'],
    ],
    full: `
      select t.run_id, coalesce(e.partition, -1) as partition, count(*) as trees, count(t.closed_at) as closed_trees,
             sum(coalesce(o.rollouts, 0))::bigint as rollouts, sum(coalesce(o.terminated, 0))::bigint as terminated,
             sum(coalesce(o.truncated, 0))::bigint as truncated, sum(coalesce(o.failed, 0))::bigint as failed,
             sum(coalesce(o.cancelled, 0))::bigint as cancelled, sum(coalesce(o.judged, 0))::bigint as judged,
             sum(coalesce(o.successes, 0))::bigint as successes, sum(coalesce(s.steps, 0))::bigint as steps,
             sum(coalesce(s.prompt_tokens, 0))::bigint as prompt_tokens,
             sum(coalesce(s.completion_tokens, 0))::bigint as completion_tokens,
             sum(coalesce(o.unclear_calls, 0))::bigint as unclear_calls, sum(coalesce(o.lost_parts, 0))::bigint as lost_parts
      from trees t left join events e on e.stream = t.tree_id and e.position = 1
      left join (
        select tree_id, count(*) as rollouts, count(*) filter (where outcome = 'terminated') as terminated,
               count(*) filter (where outcome = 'truncated') as truncated, count(*) filter (where outcome = 'failed') as failed,
               count(*) filter (where outcome = 'cancelled') as cancelled, count(success) as judged,
               count(*) filter (where success) as successes, sum(unclear_calls) as unclear_calls, sum(lost_parts) as lost_parts
        from rollouts group by tree_id) o on o.tree_id = t.tree_id
      left join (
        select tree_id, count(*) filter (where depth > 0) as steps, sum(prompt_tokens) as prompt_tokens,
               sum(completion_tokens) as completion_tokens
        from steps group by tree_id) s on s.tree_id = t.tree_id
      group by t.run_id, coalesce(e.partition, -1)`,
  },
  {
    table: 'run_returns',
    columns: ['run_id', 'partition', 'returns', 'total'],
    full: `
      select v.run_id, coalesce(e.partition, -1) as partition, count(*) as returns, trim_scale(sum(v.value::text::numeric)) as total
      from returns v left join events e on e.stream = v.tree_id and e.position = 1 where v.value is not null
      group by v.run_id, coalesce(e.partition, -1)`,
  },
  {
    table: 'run_events',
    columns: ['run_id', 'topic', 'partition', 'events', 'last_at', 'minute', 'in_minute', 'minute_before'],
    full: EVENTS_OF_RUNS,
  },
] as const;

/** A run of which a fold counted something else than a full count finds. */
export interface Miscounted {
  readonly table: string;
  readonly runId: string;
}

/** Compares what the folds counted of each run with a full count, in one snapshot; returns the runs that differ, by table. */
export async function findMiscounted(db: Db): Promise<readonly Miscounted[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const found: Miscounted[] = [];
      for (const { table, columns, full } of KEPT_COUNTS) {
        const sums = sql.raw(columns.flatMap((name) => (UNSUMMED.has(name) ? [] : [`sum(${name}) as ${name}`])).join(', '));
        const { rows } = await sql<{ runId: string }>`
          select run_id from (select run_id, ${sums} from ${sql.raw(table)} group by run_id) k
          full join (select run_id, ${sums} from (${sql.raw(full)}) c group by run_id) f using (run_id)
          where k is distinct from f order by 1`.execute(trx);
        for (const { runId } of rows) found.push({ table, runId });
      }
      for (const runId of await findMissettled(trx)) found.push({ table: 'settled_samples', runId });
      return found;
    });
}

const UNSUMMED: ReadonlySet<string> = new Set([
  'run_id',
  'topic',
  'partition',
  'last_at',
  'minute',
  'in_minute',
  'minute_before',
]);
