import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Trx } from '../../../postgres/database.ts';
import type { RowGates } from './row-options.ts';
import type { TrainingRow } from './training-row.ts';

/** Why an example is not written. */
export const DROPPED = ['test-task', 'evaluation', 'other-channel', 'evaluated-task', 'balance', 'duplicate'] as const;
export type Dropped = (typeof DROPPED)[number];

/** Decides which examples pass, in the order in which they come. What it remembers: a hash per line and a count per task. */
export interface Gate {
  /** Judges an example by its lines without metadata; gives those that pass, or why none does. */
  judge(row: TrainingRow, bodies: readonly object[]): { readonly kept: readonly object[] } | { readonly dropped: Dropped };
}

/** Opens a gate on the snapshot of the transaction. */
export async function openGate(trx: Trx, gates: RowGates): Promise<Gate> {
  const testTasks = gates.testTasks === 'remove' ? await readTestTasks(trx) : new Set<string>();
  const measuring = gates.evaluations === 'remove' ? await readMeasuringRuns(trx) : new Map<string, Dropped>();
  const evaluated = gates.evaluations === 'remove' ? await readEvaluatedTasks(trx) : new Set<string>();
  const taken = new Map<string, number>();
  const seen = new Set<string>();
  return {
    judge(row, bodies) {
      if (testTasks.has(row.taskId) || (gates.testTasks === 'remove' && row.source.task.split === 'test'))
        return { dropped: 'test-task' };
      const measures = measuring.get(row.source.run);
      if (measures !== undefined) return { dropped: measures };
      if (evaluated.has(row.taskId)) return { dropped: 'evaluated-task' };
      const fresh = gates.duplicates === 'keep' ? bodies : bodies.filter((body) => !seen.has(digestOf(body)));
      if (fresh.length === 0) return { dropped: 'duplicate' };
      const key = `${row.taskId} ${row.kind}`;
      const before = taken.get(key) ?? 0;
      if (gates.maxPerTask !== null && before >= gates.maxPerTask) return { dropped: 'balance' };
      taken.set(key, before + 1);
      const kept = fresh.filter((body) => {
        const digest = digestOf(body);
        return gates.duplicates === 'keep' || (!seen.has(digest) && seen.add(digest).size > 0);
      });
      return { kept };
    },
  };
}

/**
 * Reads the tasks that any tree of the record has in a test split, and those of other servers or runs that show the same first
 * observation: a task is what the agent sees, and integers are not stable between servers (specification of Agent-R, §6 items 19,
 * 20).
 */
async function readTestTasks(trx: Trx): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id as "taskId" from trees t
    where (t.environment, t.observation_hash) in (select environment, observation_hash from trees where split = 'test')`.execute(
    trx,
  );
  return new Set(rows.map(({ taskId }) => taskId));
}

/**
 * Reads the runs that measure: evaluations, and runs of another channel than `train`. A run without a channel was collected to
 * learn from.
 */
async function readMeasuringRuns(trx: Trx): Promise<ReadonlyMap<string, Dropped>> {
  const { rows } = await sql<{ runId: string; dropped: Dropped }>`
    select run_id as "runId", case when kind = 'evaluate' then 'evaluation' else 'other-channel' end as dropped from runs
    where kind = 'evaluate' or config #>> '{training,channel}' <> 'train'`.execute(trx);
  return new Map(rows.map(({ runId, dropped }) => [runId, dropped]));
}

/**
 * Reads the tasks that a rollout of an evaluation or of a channel that is held out began, and those that show the same first
 * observation. The channel `baseline` is none of these: its greedy rollouts are of the tasks that are trained on.
 */
async function readEvaluatedTasks(trx: Trx): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id as "taskId" from trees t
    where (t.environment, t.observation_hash) in (
      select seen.environment, seen.observation_hash from trees seen join runs r on r.run_id = seen.run_id
      where r.kind = 'evaluate' or r.config #>> '{training,channel}' in ('validation', 'held-out'))`.execute(trx);
  return new Set(rows.map(({ taskId }) => taskId));
}

function digestOf(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64');
}
