import type { Delivery } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

type CountRow = Row<typeof tables.runCounts>;
type Counted = { -readonly [Name in Exclude<keyof CountRow, 'runId' | 'partition'>]: number };

const NONE: Counted = {
  trees: 0,
  closedTrees: 0,
  rollouts: 0,
  terminated: 0,
  truncated: 0,
  failed: 0,
  cancelled: 0,
  judged: 0,
  successes: 0,
  steps: 0,
  promptTokens: 0,
  completionTokens: 0,
  unclearCalls: 0,
  lostParts: 0,
};

/** What a batch adds to the counts of runs, by run and partition. */
export class RunCounts {
  private readonly byPlace = new Map<string, Counted & { readonly runId: string; readonly partition: number }>();

  /** Adds what an event that has effect brings to its run. */
  add({ partition }: Delivery, runId: string, brought: Partial<Counted>): void {
    const place = `${runId} ${partition}`;
    const counts = this.byPlace.get(place) ?? { runId, partition, ...NONE };
    for (const name in brought) counts[name as keyof Counted] += brought[name as keyof Counted] ?? 0; // no others
    this.byPlace.set(place, counts);
  }

  rows(): readonly CountRow[] {
    return [...this.byPlace.values()];
  }
}
