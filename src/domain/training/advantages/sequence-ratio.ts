/** Python's difflib treats a character as junk when a text of this length holds it in more than 1 % of its places, plus one. */
const AUTOJUNK_LENGTH = 200;

/**
 * Measures how alike two texts are as Python's `difflib.SequenceMatcher(None, a, b).ratio()` does, to the last bit: 2·M/T, where
 * M counts the characters of the blocks that Ratcliff and Obershelp's method matches and T those of both texts. Characters are
 * code points; the autojunk heuristic is on, so the ratio of long texts depends on their order.
 */
export function sequenceRatio(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const total = left.length + right.length;
  return total === 0 ? 1 : (2 * countMatching(left, right)) / total;
}

interface Span {
  readonly leftFrom: number;
  readonly leftTo: number;
  readonly rightFrom: number;
  readonly rightTo: number;
}

interface Block {
  readonly left: number;
  readonly right: number;
  readonly size: number;
}

function countMatching(left: readonly string[], right: readonly string[]): number {
  const places = indexPlaces(right);
  const open: Span[] = [{ leftFrom: 0, leftTo: left.length, rightFrom: 0, rightTo: right.length }];
  let matching = 0;
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    const block = longestBlock(left, right, places, span);
    if (block.size === 0) continue;
    matching += block.size;
    open.push(
      { ...span, leftTo: block.left, rightTo: block.right },
      { ...span, leftFrom: block.left + block.size, rightFrom: block.right + block.size },
    );
  }
  return matching;
}

function indexPlaces(right: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [j, character] of right.entries()) {
    const found = places.get(character);
    if (found) found.push(j);
    else places.set(character, [j]);
  }
  if (right.length < AUTOJUNK_LENGTH) return places;
  const popular = Math.floor(right.length / 100) + 1;
  return new Map([...places].filter(([, found]) => found.length <= popular));
}

/**
 * Finds the longest block, of those the first in `left`, of those the first in `right`; then lets it grow over characters that
 * were left out as too frequent.
 */
function longestBlock(
  left: readonly string[],
  right: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  { leftFrom, leftTo, rightFrom, rightTo }: Span,
): Block {
  let [bestLeft, bestRight, size] = [leftFrom, rightFrom, 0];
  // by place in `right`: the length of the match that ends there and at the last left character
  let lengths = new Map<number, number>();
  for (let i = leftFrom; i < leftTo; i++) {
    const grown = new Map<number, number>();
    for (const j of places.get(left[i] ?? '') ?? []) {
      if (j < rightFrom) continue;
      if (j >= rightTo) break;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      grown.set(j, length);
      if (length > size) [bestLeft, bestRight, size] = [i - length + 1, j - length + 1, length];
    }
    lengths = grown;
  }
  while (bestLeft > leftFrom && bestRight > rightFrom && left[bestLeft - 1] === right[bestRight - 1]) {
    [bestLeft, bestRight, size] = [bestLeft - 1, bestRight - 1, size + 1];
  }
  while (bestLeft + size < leftTo && bestRight + size < rightTo && left[bestLeft + size] === right[bestRight + size]) size++;
  return { left: bestLeft, right: bestRight, size };
}
