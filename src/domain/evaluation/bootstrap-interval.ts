import { createRandom } from '../random/random.ts';

export interface Bootstrap {
  /** The share of resamples inside the interval, such as 0.95. */
  readonly confidence: number;
  readonly resamples: number;
  readonly seed: number;
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** 2,000 resamples place the ends of a 95 % interval to about a hundredth of its width, in some milliseconds for 100 tasks. */
export const BOOTSTRAP_DEFAULTS: Omit<Bootstrap, 'seed'> = { confidence: 0.95, resamples: 2_000 };

/**
 * Returns the percentile bootstrap interval of a mean over groups (Efron 1979; clusters as in Davison and Hinkley 1997, §3.8).
 * Whole groups are drawn with replacement: episodes of one task are alike, and resampling them one by one would pretend to know
 * more than was seen. Nothing but the seed decides the draws. @throws RangeError without a value, or for a confidence outside
 * 0..1.
 */
export function bootstrapInterval(groups: readonly (readonly number[])[], bootstrap: Bootstrap): Interval {
  const [interval] = bootstrapIntervals([groups], bootstrap);
  if (!interval) throw new Error('one series has one interval');
  return interval;
}

/** Returns the interval of each series of groups, as `bootstrapInterval` does: those of as many groups are drawn together. */
export function bootstrapIntervals(
  series: readonly (readonly (readonly number[])[])[],
  { confidence, resamples, seed }: Bootstrap,
): readonly Interval[] {
  if (!(confidence > 0 && confidence < 1)) throw new RangeError(`a confidence lies between 0 and 1, not ${confidence}`);
  if (!Number.isInteger(resamples) || resamples < 1) throw new RangeError(`resamples are 1 or more, not ${resamples}`);
  const held = series.map((groups) => groups.filter((group) => group.length > 0));
  if (held.some(({ length }) => length === 0)) throw new RangeError('there is nothing to resample: no group holds a value');
  const means = held.map(() => new Float64Array(resamples));
  for (const size of new Set(held.map(({ length }) => length))) {
    const same = held.flatMap((groups, i) => (groups.length === size ? [{ groups, means: means[i] as Float64Array }] : []));
    drawMeans(same, size, resamples, seed);
  }
  const tail = (1 - confidence) / 2;
  return means.map((drawn) => {
    const sorted = [...drawn.sort()];
    return { low: quantile(sorted, tail), high: quantile(sorted, 1 - tail) };
  });
}

interface Drawn {
  readonly groups: readonly (readonly number[])[];
  readonly means: Float64Array;
}

/** Fills in the means of resamples of series of `size` groups each. A draw is most of the work, and the same for all. */
function drawMeans(series: readonly Drawn[], size: number, resamples: number, seed: number): void {
  const width = series.length;
  const [sums, counts] = [new Float64Array(size * width), new Float64Array(size * width)];
  for (const [j, { groups }] of series.entries())
    for (const [i, group] of groups.entries()) {
      sums[i * width + j] = sum(group);
      counts[i * width + j] = group.length;
    }
  const [total, count] = [new Float64Array(width), new Float64Array(width)];
  const random = createRandom(seed);
  for (let resample = 0; resample < resamples; resample++) {
    total.fill(0);
    count.fill(0);
    for (let i = 0; i < size; i++) {
      const drawn = random.int(size) * width; // int() stays below the length
      for (let j = 0; j < width; j++) {
        (total[j] as number) += sums[drawn + j] as number;
        (count[j] as number) += counts[drawn + j] as number;
      }
    }
    for (const [j, { means }] of series.entries()) means[resample] = (total[j] as number) / (count[j] as number);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

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

/** Interpolates between the two nearest of sorted values. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0]; // both lie inside: 0 <= share <= 1
  return below + (above - below) * (at - Math.floor(at));
}
