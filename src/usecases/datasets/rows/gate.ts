import { sha256Bytes } from '../../../digest/sha256.ts';
import type { Trx } from '../../../postgres/database.ts';
import { readMeasuringRuns } from '../../../projections/runs/read-runs.ts';
import { readEvaluatedTasks, readTestTasks } from '../../../projections/step-tree/read-trees.ts';
import type { RowGates } from './row-options.ts';
import type { TrainingRow } from './training-row.ts';

/** Why an example is not written. */
export const DROPPED = ['test-task', 'evaluation', 'other-channel', 'evaluated-task', 'balance', 'duplicate', 'altered'] as const;
export type Dropped = (typeof DROPPED)[number];

/** Decides which examples pass, in the order in which they come. What it remembers: a hash per line and a count per task. */
export interface Gate {
  /** Judges an example by its lines without metadata; returns those that pass, or why none does. */
  judge(row: TrainingRow, bodies: readonly object[]): { readonly kept: readonly object[] } | { readonly dropped: Dropped };
}

/** Opens a gate on the snapshot of the transaction. */
export async function openGate(trx: Trx, gates: RowGates): Promise<Gate> {
  const testTasks = gates.testTasks === 'remove' ? await readTestTasks(trx) : new Set<string>();
  const measuring = gates.evaluations === 'remove' ? await readMeasuringRuns(trx) : new Map<string, Dropped>();
  const evaluated = gates.evaluations === 'remove' ? await readEvaluatedTasks(trx) : new Set<string>();
  const taken = new Map<string, number>();
  const seen = new Set<string>();
  const refused = new Set<string>();
  /** One that is equal to a dropped one is a duplicate, so that a line is counted once under its reason. */
  const drop = (reason: Dropped, bodies: readonly object[]): { readonly dropped: Dropped } => {
    if (gates.duplicates === 'keep') return { dropped: reason };
    const fresh = bodies.map(digestOf).filter((digest) => !refused.has(digest));
    for (const digest of fresh) refused.add(digest);
    return { dropped: fresh.length === 0 ? 'duplicate' : reason };
  };
  return {
    judge(row, bodies) {
      if (row.isAltered) return { dropped: 'altered' };
      if (testTasks.has(row.taskId) || (gates.testTasks === 'remove' && row.source.task.split === 'test'))
        return drop('test-task', bodies);
      const measures = measuring.get(row.source.run);
      if (measures !== undefined) return drop(measures, bodies);
      if (evaluated.has(row.taskId)) return drop('evaluated-task', bodies);
      const fresh = gates.duplicates === 'keep' ? bodies : bodies.filter((body) => !seen.has(digestOf(body)));
      if (fresh.length === 0) return { dropped: 'duplicate' };
      const key = `${row.taskId} ${row.kind}`;
      const before = taken.get(key) ?? 0;
      if (gates.maxPerTask !== null && before >= gates.maxPerTask) return drop('balance', bodies);
      taken.set(key, before + 1);
      const kept = fresh.filter((body) => {
        const digest = digestOf(body);
        return gates.duplicates === 'keep' || (!seen.has(digest) && seen.add(digest).size > 0);
      });
      return { kept };
    },
  };
}

function digestOf(body: object): string {
  return sha256Bytes(JSON.stringify(body)).toString('base64');
}
