/** Two sequences brought next to each other: a place has an item of both, or of one. */
export interface Pair<Item> {
  readonly a: Item | null;
  readonly b: Item | null;
  readonly equal: boolean;
}

const CELLS = 4_000_000; // of the table of common subsequences: beyond it what lies between equal ends is paired place by place

/** Aligns two sequences by their longest common subsequence; what is equal at both ends is taken off first. */
export function align<Item>(a: readonly Item[], b: readonly Item[], keyOf: (item: Item) => string): readonly Pair<Item>[] {
  const [left, right] = [a.map(keyOf), b.map(keyOf)];
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++;
  const both = (i: number, j: number): Pair<Item> => ({ a: a[i] ?? null, b: b[j] ?? null, equal: true });
  const [m, n] = [left.length - head - tail, right.length - head - tail];
  return [
    ...Array.from({ length: head }, (_, i) => both(i, i)),
    ...(m * n > CELLS ? oneByOne(a, b, head, m, n) : between(a, b, left, right, head, m, n)),
    ...Array.from({ length: tail }, (_, i) => both(left.length - tail + i, right.length - tail + i)),
  ];
}

function oneByOne<Item>(a: readonly Item[], b: readonly Item[], from: number, m: number, n: number): Pair<Item>[] {
  return Array.from({ length: Math.max(m, n) }, (_, i) => ({
    a: i < m ? (a[from + i] ?? null) : null,
    b: i < n ? (b[from + i] ?? null) : null,
    equal: false,
  }));
}

function between<Item>(
  a: readonly Item[],
  b: readonly Item[],
  left: readonly string[],
  right: readonly string[],
  from: number,
  m: number,
  n: number,
): Pair<Item>[] {
  const width = n + 1;
  const common = new Uint32Array((m + 1) * width);
  for (let i = m - 1; i >= 0; i--)
    for (let j = n - 1; j >= 0; j--)
      common[i * width + j] =
        left[from + i] === right[from + j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const pairs: Pair<Item>[] = [];
  const onlyA: Item[] = [];
  const onlyB: Item[] = [];
  const flush = () => {
    for (const each of oneByOne(onlyA, onlyB, 0, onlyA.length, onlyB.length)) pairs.push(each);
    onlyA.length = 0;
    onlyB.length = 0;
  };
  let [i, j] = [0, 0];
  while (i < m || j < n) {
    if (i < m && j < n && left[from + i] === right[from + j]) {
      flush();
      pairs.push({ a: a[from + i++] ?? null, b: b[from + j++] ?? null, equal: true });
    } else if (j >= n || (i < m && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) onlyA.push(a[from + i++]!);
    else onlyB.push(b[from + j++]!);
  }
  flush();
  return pairs;
}
