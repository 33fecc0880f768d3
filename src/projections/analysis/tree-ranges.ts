import type { PageRequest } from '../../postgres/keyset.ts';
import { type Ordering, parseCursor } from '../../postgres/keyset-cursor.ts';

/** Ids of trees, both ends included. */
export interface TreeRange {
  readonly from: string;
  readonly to: string;
}

const LAST = (1n << 128n) - 1n;
const GROWTH = 16n;
const PARTS = 2 ** 40; // of all ids: what a share is rounded to

/**
 * Returns the ids of trees that a page reads on into, in ranges of which each is sixteen times as long as the one before it. The
 * ids are hashes, so that a range holds its share of whatever is searched: a page of what is frequent ends in a short one, and
 * what is rare is few rows in a long one. @param share how
 * large a share of all ids the first one has. @throws InvalidCursor.
 */
export function* treeRanges(ordering: Ordering, { towards, after, before }: PageRequest, share: number): Generator<TreeRange> {
  const [from, to] = [treeOf(after, ordering) ?? 0n, treeOf(before, ordering) ?? LAST];
  const length = to - from + 1n;
  let [read, next] = [0n, ((LAST + 1n) * BigInt(Math.max(1, Math.ceil(share * PARTS)))) / BigInt(PARTS)];
  while (read < length) {
    const until = read + next < length ? read + next : length;
    next *= GROWTH;
    const [first, last] =
      towards === 'forwards' ? [from + read, from + until - 1n] : [from + length - until, from + length - read - 1n];
    yield { from: uuidOf(first), to: uuidOf(last) };
    read = until;
  }
}

/** Returns how large a share of all ids a range has. */
export function shareOf({ from, to }: TreeRange): number {
  return (Number.parseInt(to.slice(0, 8), 16) + 1 - Number.parseInt(from.slice(0, 8), 16)) / 2 ** 32;
}

/** The tree that a cursor of an ordering by trees names. */
function treeOf(cursor: string | null, ordering: Ordering): bigint | null {
  const [treeId] = cursor === null ? [] : parseCursor(cursor, ordering);
  return typeof treeId === 'string' ? BigInt(`0x${treeId.replaceAll('-', '')}`) : null;
}

function uuidOf(value: bigint): string {
  const hex = value.toString(16).padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
