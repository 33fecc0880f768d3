/**
 * Splits a text into its words, in lower case: runs of letters and digits, so `minecraft:oak_log` yields three. At most `limit`
 * of them.
 */
export function wordsOf(text: string, limit = WORD_LIMIT): string[] {
  // A word of an environment's text has few letters; an observation of megabytes is read only as far as it can matter.
  const words =
    text
      .slice(0, limit * 16)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length > limit ? words.slice(0, limit) : words;
}

const WORD_LIMIT = 64;

// Looked up once: these lines run some ten thousand times for each choice.
const { imul } = Math;

/**
 * Hashes a text to 32 bits: FNV-1a over its UTF-16 code units, then Murmur3's finaliser so that the low bits are as good as the
 * high ones. Weights are addressed by it, so it may never change without a new feature revision.
 */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = imul(hash ^ text.charCodeAt(i), 0x01000193);
  return finalise(hash);
}

/** Hashes an ordered pair of hashes: the name of the cross of two features. */
export function crossHash(a: number, b: number): number {
  return finalise(imul(a, 0x9e3779b1) ^ imul(b, 0x85ebca77) ^ (a >>> 15));
}

function finalise(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
