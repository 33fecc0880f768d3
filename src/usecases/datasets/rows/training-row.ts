import { sha256Bytes } from '../../../digest/sha256.ts';
import type { ChatMessage } from '../../../domain/history/prompt.ts';
import type { PublishedFeedback } from '../../../domain/revision/published-rows.ts';
import type { RevisedTurn } from '../../../domain/revision/splice.ts';
import type { SearchedStep } from '../../../domain/search/search-tree.ts';
import type { Trx } from '../../../postgres/database.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { readMeasuringRuns } from '../../../projections/runs/read-runs.ts';
import { readEvaluatedTasks, readTestTasks } from '../../../projections/step-tree/read-trees.ts';
import type { RowOrigin } from '../export/row-metadata.ts';
import type { RowGates } from './row-options.ts';

/** A training example of a searched tree before it has the form of a file. */
export interface TrainingRow {
  readonly kind: 'good' | 'revision' | 'pair';
  /** Whether it is a revision that its tree does not yield as it was composed. */
  readonly isAltered: boolean;
  readonly taskId: string;
  readonly alias: string;
  readonly environment: string;
  readonly instruction: string;
  readonly firstObservation: string;
  /** Ids of the pictures of observations: of the first, and of those behind steps, by the step. */
  readonly firstPictures: readonly string[];
  readonly pictures: ReadonlyMap<string, readonly string[]>;
  /** What the source of an imported run said besides the instruction; null for runs of our own. */
  readonly system: string | null;
  readonly acknowledgement: string | null;
  /** The messages, with the loss of each reply. */
  readonly turns: readonly RevisedTurn[];
  /** The two trajectories that a revision or pair was made of; null for a good one. */
  readonly pair: RowPair | null;
  /** What the judge said of the bad one's first steps; null when nobody was asked. */
  readonly feedback: readonly PublishedFeedback[] | null;
  /** Every id and number that leads back to the record. */
  readonly source: RowOrigin;
  /** What the steps of the tree were asked with, by their ids, and the recorded configuration of its run. */
  readonly prompts: ReadonlyMap<string, RecordedPrompt>;
  readonly config: unknown;
  /** The trajectories it was made of. */
  readonly rollouts: { readonly good: string; readonly bad: string | null };
}

export interface RowPair {
  readonly good: readonly SearchedStep[];
  readonly bad: readonly SearchedStep[];
  readonly branch: number;
}

/** Returns what precedes the first reply, as the policy saw it: imported conversations open as their files did. */
export function openingOf(row: TrainingRow): readonly ChatMessage[] {
  const { system, acknowledgement, instruction, firstObservation } = row;
  const first = { role: 'user', content: firstObservation } as const;
  if (acknowledgement === null) {
    const head = instruction === '' ? system : instruction;
    return head === null ? [first] : [{ role: 'system', content: head }, first];
  }
  return [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    { role: 'user', content: instruction },
    { role: 'assistant', content: acknowledgement },
    first,
  ];
}

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
