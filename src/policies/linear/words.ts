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
