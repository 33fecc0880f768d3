/**
 * What a text costs as text, and by which tokenizer. A model's own tokenizer differs by some percent: compare only equal labels.
 */
export interface TextTokens {
  readonly count: number;
  readonly tokenizer: 'o200k_base';
}

/**
 * Pair merging takes quadratic time in the length of a run without a break, so longer runs are cut: a token or so more for each
 * cut.
 */
const LONG_RUN = /\S{400}|\s{400}/g;
const AS_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

/** Counts the tokens of a text. The first call reads about 2 MB of merges (a third of a second). */
export async function textTokens(text: string): Promise<TextTokens> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  let [count, from] = [0, 0];
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    count += countTokens(text.slice(from, index + run.length), AS_TEXT);
    from = index + run.length;
  }
  return { count: count + countTokens(text.slice(from), AS_TEXT), tokenizer: 'o200k_base' };
}
