import { createRandom } from '../random/random.ts';
import type { Bootstrap, Interval } from './bootstrap-interval.ts';
import { quantile } from './quantile.ts';

/** What one repetition came to on one task: an episode, or the mean of several. */
export interface Cell {
  readonly task: string;
  readonly seed: number;
  readonly value: number;
}

/**
 * Returns the mean over cells and its percentile interval where both tasks and repetitions are samples of more: each is drawn
 * with replacement by itself, and a cell counts as often as both of it were drawn (the pigeonhole bootstrap; Owen 2007). With one
 * repetition it is the bootstrap over tasks. The same cells give the same numbers in any order. Null without a cell.
 */
export function crossedInterval(
  cells: readonly Cell[],
  { confidence, resamples, seed }: Bootstrap,
): { readonly mean: number; readonly interval: Interval } | null {
  if (cells.length === 0) return null;
  const sorted = [...cells].sort(
    (a, b) => (a.task < b.task ? -1 : a.task > b.task ? 1 : 0) || a.seed - b.seed || a.value - b.value,
  );
  const tasks = [...new Set(sorted.map(({ task }) => task))];
  const seeds = [...new Set(sorted.map((cell) => cell.seed))].sort((a, b) => a - b);
  const placed = sorted.map(({ task, seed: own, value }) => ({ task: tasks.indexOf(task), seed: seeds.indexOf(own), value }));
  const random = createRandom(seed);
  const means: number[] = [];
  for (let i = 0; i < resamples; i++) {
    const ofTask = drawn(random, tasks.length);
    const ofSeed = drawn(random, seeds.length);
    let total = 0;
    let weight = 0;
    for (const cell of placed) {
      const times = (ofTask[cell.task] ?? 0) * (ofSeed[cell.seed] ?? 0);
      total += times * cell.value;
      weight += times;
    }
    if (weight > 0) means.push(total / weight); // where repetitions took different tasks, none of a draw may have met
  }
  means.sort((a, b) => a - b);
  const tail = (1 - confidence) / 2;
  const mean = placed.reduce((sum, { value }) => sum + value, 0) / placed.length;
  return { mean, interval: { low: quantile(means, tail), high: quantile(means, 1 - tail) } };
}

/** How often each of `count` things is there among as many draws with replacement. */
function drawn(random: ReturnType<typeof createRandom>, count: number): readonly number[] {
  const times = new Array<number>(count).fill(0);
  for (let i = 0; i < count; i++) {
    const at = random.int(count);
    times[at] = (times[at] ?? 0) + 1;
  }
  return times;
}

/** Averages the episodes of each task in each repetition. */
export function cellsOf(measured: readonly Cell[]): readonly Cell[] {
  const groups = new Map<string, { readonly task: string; readonly seed: number; readonly values: number[] }>();
  for (const { task, seed, value } of measured) {
    const key = `${seed} ${task}`;
    const group = groups.get(key) ?? { task, seed, values: [] };
    group.values.push(value);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ task, seed, values }) => ({ task, seed, value: mean(values) }));
}

/** Returns what each task gained in each repetition; what only one side has is left out: there is nothing to compare it with. */
export function pairedCells(from: readonly Cell[], to: readonly Cell[]): readonly Cell[] {
  const before = new Map(from.map(({ task, seed, value }) => [`${seed} ${task}`, value]));
  return to.flatMap(({ task, seed, value }) => {
    const other = before.get(`${seed} ${task}`);
    return other === undefined ? [] : [{ task, seed, value: value - other }];
  });
}

function mean(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b); // a sum of floating-point numbers has an order
  return sorted.reduce((sum, value) => sum + value, 0) / values.length;
}
