import { at } from '../rows/rows.ts';
import { createHeap } from './heap.ts';

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
