import { type RefusedOption, refuseOption } from '../method-options.ts';
import { at } from '../rows/rows.ts';
import { sumOf } from '../statistics/masked.ts';

interface MicroBatches {
  readonly kind: 'planned';
  /** Row positions of each micro-batch, ascending; every row in exactly one, none empty. */
  readonly batches: readonly (readonly number[])[];
}

/**
 * Cuts rows into micro-batches of at most `tokenBudget` tokens: ⌈Σ tokens / budget⌉ of them, balanced by workload (verl).
 * Balanced work is not balanced length, so a batch can still be over the budget; then one more is opened until all fit, which
 * verl leaves to run out of memory. Refuses a row that is longer than the budget alone. @param lengths tokens of each row, prompt
 * included.
 */
export function planMicroBatches(lengths: ArrayLike<number>, tokenBudget: number): MicroBatches | RefusedOption {
  const all = Array.from(lengths);
  if (all.length === 0) return { kind: 'planned', batches: [] };
  const longest = all.findIndex((length) => length > tokenBudget);
  if (longest !== -1)
    return refuseOption(`row ${longest} has ${at(all, longest)} tokens, more than the budget of ${tokenBudget}`);
  const workloads = all.map(rowWorkload);
  const first = Math.min(all.length, Math.max(1, Math.ceil(sumOf(all) / tokenBudget)));
  for (let count = first; count < all.length; count++) {
    const batches = balancePartition(workloads, count, 'free').filter((rows) => rows.length > 0);
    if (batches.every((rows) => sumOf(rows.map((row) => at(all, row))) <= tokenBudget)) return { kind: 'planned', batches };
  }
  return { kind: 'planned', batches: all.map((_, row) => [row]) };
}

interface Bin {
  readonly items: readonly number[];
  readonly sum: number;
}

/** k bins, the heaviest first. */
type State = readonly Bin[];

const EMPTY: Bin = { items: [], sum: 0 };

/**
 * Divides items into k parts of nearly equal sums by the largest differencing method (Karmarkar and Karp 1982) with verl's
 * tie-breaks, so equal inputs give verl's partitions. With `equal` counts, items start in runs of k neighbours by weight, which
 * keeps every part at n/k items.
 * @returns item positions, ascending within a part. @throws RangeError unless 1 ≤ k ≤ n, and for equal counts unless k divides n.
 */
export function balancePartition(
  weights: ArrayLike<number>,
  k: number,
  counts: 'equal' | 'free',
): readonly (readonly number[])[] {
  const n = weights.length;
  if (!Number.isInteger(k) || k < 1 || k > n) throw new RangeError(`${n} items cannot be divided into ${k} parts`);
  if (counts === 'equal' && n % k !== 0) throw new RangeError(`${n} items do not divide evenly into ${k} parts`);
  const ascending = Array.from({ length: n }, (_, i) => i).sort((a, b) => at(weights, a) - at(weights, b) || a - b);
  const run = counts === 'equal' ? k : 1;
  const heap = createHeap<State>(isWider);
  for (let i = 0; i < n; i += run) heap.push(startState(ascending.slice(i, i + run), weights, k));
  for (let widest = heap.pop(); widest !== undefined; widest = heap.pop()) {
    const second = heap.pop();
    if (second === undefined) return widest.map(({ items }) => items.toSorted((a, b) => a - b));
    heap.push(merge(widest, second));
  }
  return []; // never reached: n ≥ 1, and every turn leaves one state
}

function startState(items: readonly number[], weights: ArrayLike<number>, k: number): State {
  const bins = Array.from({ length: k }, (_, i): Bin => {
    const item = items[i];
    return item === undefined ? EMPTY : { items: [item], sum: at(weights, item) };
  });
  return bins.sort((a, b) => compareBins(b, a));
}

/** Joins the heaviest bin of one state with the lightest of the other, and so on. */
function merge(left: State, right: State): State {
  return left
    .map((bin, i): Bin => {
      const other = right[right.length - 1 - i] ?? EMPTY;
      return { items: [...bin.items, ...other.items], sum: bin.sum + other.sum };
    })
    .sort((a, b) => compareBins(b, a));
}

/** The widest spread first; of equals the one with the larger first bin. */
function isWider(a: State, b: State): boolean {
  const difference = spread(a) - spread(b);
  return difference !== 0 ? difference > 0 : compareBins(a[0] ?? EMPTY, b[0] ?? EMPTY) > 0;
}

function spread(state: State): number {
  return (state[0]?.sum ?? 0) - (state.at(-1)?.sum ?? 0);
}

/** By sum, then by count, then item by item: as Python compares the lists. */
function compareBins(a: Bin, b: Bin): number {
  if (a.sum !== b.sum) return a.sum - b.sum;
  if (a.items.length !== b.items.length) return a.items.length - b.items.length;
  const differs = a.items.findIndex((item, i) => item !== b.items[i]);
  return differs === -1 ? 0 : at(a.items, differs) - at(b.items, differs);
}

interface Heap<T> {
  push(item: T): void;
  /** Takes the first item; undefined when there is none. */
  pop(): T | undefined;
}

/**
 * A binary heap that makes the moves of Python's `heapq`: items of which neither precedes the other come out in the same order
 * there and here.
 */
function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  const place = (item: T, from: number): void => {
    let position = from;
    while (position > 0) {
      const above = (position - 1) >> 1;
      const parent = items[above] as T; // 0 <= above < position < length
      if (!before(item, parent)) break;
      items[position] = parent;
      position = above;
    }
    items[position] = item;
  };

  return {
    push(item) {
      items.push(item);
      place(item, items.length - 1);
    },
    pop() {
      const last = items.pop();
      if (last === undefined || items.length === 0) return last;
      const first = items[0] as T; // length > 0
      // As heapq: the hole sinks to a leaf along the first children, and only then the last item climbs from there.
      let hole = 0;
      for (let child = 1; child < items.length; child = 2 * hole + 1) {
        const right = child + 1;
        const chosen = right < items.length && !before(items[child] as T, items[right] as T) ? right : child; // both < length
        items[hole] = items[chosen] as T; // chosen < length
        hole = chosen;
      }
      place(last, hole);
      return first;
    },
  };
}

/** Relative cost of a row of L tokens, 24576·L + L² (verl's calibration on a 7B model): the linear layers and attention. */
export function rowWorkload(length: number): number {
  return 24_576 * length + length * length;
}
