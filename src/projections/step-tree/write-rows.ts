import { sql } from 'kysely';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Rows } from './fold-batch.ts';
import * as row from './rows.ts';

/**
 * Writes the rows. What begins and ends in one batch is written once, whole: an update would write its row and its index entries
 * again. `insert` is for what the fold knows to be new; of tool calls and divergences it knows nothing, and those that are there
 * are skipped.
 */
export async function writeRows(rows: Rows, trx: Trx, insert: typeof insertRows): Promise<void> {
  const trees = joinEnds(rows.trees, rows.closed, 'tree_id');
  const rollouts = joinEnds(rows.rollouts, rows.ends, 'rollout_id');
  await insert(trx, 'trees', ['tree_id'], trees.whole, { ...row.TREE_COLUMNS, ...row.CLOSE_COLUMNS });
  await insert(trx, 'steps', ['step_id'], rows.steps, row.STEP_COLUMNS);
  await insert(trx, 'rollouts', ['rollout_id'], rollouts.whole, { ...row.ROLLOUT_COLUMNS, ...row.END_COLUMNS });
  if (rollouts.later.length > 0) {
    await sql`
      update rollouts set finished_at = r.finished_at, outcome = r.outcome, success = r.success, leaf_step_id = r.leaf_step_id,
             steps = r.steps, reason = r.reason
      from ${recordset(rollouts.later, row.END_COLUMNS)}
      where rollouts.rollout_id = r.rollout_id and rollouts.finished_at is null`.execute(trx);
  }
  if (trees.later.length > 0) {
    await sql`
      update trees set closed_at = r.closed_at, close_reason = r.close_reason
      from ${recordset(trees.later, row.CLOSE_COLUMNS)}
      where trees.tree_id = r.tree_id and trees.closed_at is null`.execute(trx);
  }
  await insertRows(trx, 'tool_calls', ['tool_call_id'], rows.toolCalls, row.TOOL_CALL_COLUMNS);
  await insertRows(trx, 'divergences', ['event_id'], rows.divergences, row.DIVERGENCE_COLUMNS);
}

/** Joins each beginning of a batch with its end, where the batch holds both; `later` are the ends of what began before. */
function joinEnds<Key extends string, Begin extends Record<Key, unknown>, End extends Record<Key, unknown>>(
  begins: readonly Begin[],
  ends: readonly End[],
  key: Key,
): { readonly whole: readonly (Begin & Partial<End>)[]; readonly later: readonly End[] } {
  const endOf = new Map<unknown, End>(ends.map((end) => [end[key], end]));
  const whole = begins.map((begin) => {
    const end = endOf.get(begin[key]);
    endOf.delete(begin[key]);
    return { ...begin, ...end };
  });
  return { whole, later: [...endOf.values()] };
}
