/**
 * Compares two texts by their sets of words, from 0 to 100, as `fuzz.token_set_ratio` of thefuzz does: 100 where the words of one
 * are among those of the other, else by the characters (insertions and deletions) in which the other words differ.
 */
export function tokenSetRatio(one: string, other: string): number {
  const [a, b] = [tokensOf(one), tokensOf(other)];
  if (a.size === 0 || b.size === 0) return 0;
  const shared = [...a].filter((token) => b.has(token));
  const onlyA = [...a].filter((token) => !b.has(token));
  const onlyB = [...b].filter((token) => !a.has(token));
  if (shared.length > 0 && (onlyA.length === 0 || onlyB.length === 0)) return 100;
  const [left, right] = [onlyA.sort().join(' '), onlyB.sort().join(' ')];
  const common = shared.join(' ').length;
  const gap = common > 0 ? 1 : 0;
  const lengthA = common + gap + left.length;
  const lengthB = common + gap + right.length;
  const whole = share(left.length + right.length - 2 * longestCommon(left, right), lengthA + lengthB);
  if (common === 0) return whole;
  return Math.max(whole, share(gap + left.length, common + lengthA), share(gap + right.length, common + lengthB));
}

function tokensOf(text: string): Set<string> {
  return new Set(
    text
      .replaceAll(/[\u0080-\u00ff]/g, '') // as thefuzz does, which would compare ASCII
      .replaceAll(/[^\p{L}\p{N}_]/gu, ' ')
      .toLowerCase()
      .split(' ')
      .filter((token) => token !== ''),
  );
}

/** Rounds as Python does: a half to the even number. */
function share(distance: number, length: number): number {
  const exact = 100 - (100 * distance) / length;
  const below = Math.floor(exact);
  return exact - below === 0.5 ? below + (below % 2) : Math.round(exact);
}

/** Returns the length of the longest text that both hold as a subsequence. */
function longestCommon(one: string, other: string): number {
  let row = new Uint16Array(other.length + 1);
  for (const character of one) {
    const next = new Uint16Array(other.length + 1);
    for (let j = 1; j <= other.length; j++) {
      next[j] = character === other[j - 1] ? (row[j - 1] ?? 0) + 1 : Math.max(row[j] ?? 0, next[j - 1] ?? 0);
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
