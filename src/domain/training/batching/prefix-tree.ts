export interface PrefixTreeSize {
  /** Tokens of all sequences. */
  readonly tokens: number;
  /** Tokens of their prefix tree: what several sequences begin with is counted once. */
  readonly packed: number;
  /** packed / tokens, in 0..1; 1 for no token at all. */
  readonly ratio: number;
}

/**
 * Measures the prefix tree of token sequences: its nodes are the tokens that a trainer computes when each prefix that sequences
 * share is computed once (Claw-R1, prefix-tree packing; specification of Agent-R1, §4.2). In the order of their tokens, each
 * sequence adds what lies beyond the prefix that it shares with the one before: O(n log n) comparisons, no tree in memory.
 */
export function measurePrefixTree(sequences: readonly ArrayLike<number>[]): PrefixTreeSize {
  const ordered = [...sequences].sort(compareTokens);
  let [tokens, packed] = [0, 0];
  for (const [i, sequence] of ordered.entries()) {
    tokens += sequence.length;
    packed += sequence.length - sharedPrefix(ordered[i - 1] ?? [], sequence);
  }
  return { tokens, packed, ratio: tokens === 0 ? 1 : packed / tokens };
}

function compareTokens(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const shared = sharedPrefix(a, b);
  if (shared === a.length || shared === b.length) return a.length - b.length;
  return (a[shared] ?? 0) - (b[shared] ?? 0); // both are longer than what they share
}

function sharedPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const most = Math.min(a.length, b.length);
  let shared = 0;
  while (shared < most && a[shared] === b[shared]) shared++;
  return shared;
}
