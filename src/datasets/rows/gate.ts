import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import type { RowGates } from './row-options.ts';
import type { TrainingRow } from './training-row.ts';

/** Why an example is not written. */
export type Dropped = 'test-task' | 'balance' | 'duplicate';

/** Decides which examples pass, in the order in which they come. What it remembers: a hash per line and a count per task. */
export interface Gate {
  /** Judges an example by its lines without metadata; gives those that pass, or why none does. */
  judge(row: TrainingRow, bodies: readonly object[]): { readonly kept: readonly object[] } | { readonly dropped: Dropped };
}

/** Opens a gate on the snapshot of the transaction. */
export async function openGate(trx: Trx, gates: RowGates): Promise<Gate> {
  const testTasks = gates.testTasks === 'remove' ? await readTestTasks(trx) : new Set<string>();
  const taken = new Map<string, number>();
  const seen = new Set<string>();
  return {
    judge(row, bodies) {
      if (testTasks.has(row.taskId) || (gates.testTasks === 'remove' && row.source.task.split === 'test'))
        return { dropped: 'test-task' };
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
 * Reads the tasks that any tree of the record has in a test split, and those of other servers or runs that show the same first observation: a
 * task is what the agent sees, and integers are not stable between servers (specification of Agent-R, §6 items 19, 20).
 */
async function readTestTasks(trx: Trx): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id as "taskId" from trees t
    where (t.environment, t.observation_hash) in (select environment, observation_hash from trees where split = 'test')`.execute(
    trx,
  );
  return new Set(rows.map(({ taskId }) => taskId));
}

function digestOf(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64');
}
