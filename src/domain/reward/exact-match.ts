import { findEnclosed } from '../text/enclosed.ts';
import { pythonWords } from '../text/python-strip.ts';

const PUNCTUATION = /[!-/:-@[-`{-~]/g;
/** Python's `\b` knows the letters and numbers of every script; JavaScript's would take the "an" out of "ñan". */
const ARTICLE = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/**
 * Normalises an answer for comparison, as SQuAD's script and its Python copies do: lower case, ASCII punctuation deleted (not
 * blanked: `the-end` becomes `theend`), the words a, an and the blanked, runs of white space made one blank. Accents and other
 * punctuation stay.
 */
export function normalizeAnswer(text: string): string {
  return pythonWords(text.toLowerCase().replace(PUNCTUATION, '').replace(ARTICLE, ' ')).join(' ');
}

/**
 * Returns whether a prediction equals one of the gold answers once all are normalised. What normalises to nothing equals what
 * does so too: "A" matches "the". No gold answer is matched by nothing.
 */
export function exactMatch(prediction: string, golds: readonly string[]): boolean {
  const normal = normalizeAnswer(prediction);
  return golds.some((gold) => normalizeAnswer(gold) === normal);
}

/**
 * Returns the content of the last complete `<answer>` of a text, null without one. Tags count in lower case only, as published.
 */
export function lastAnswer(text: string): string | null {
  return findEnclosed(text, 'answer', 'as-written').at(-1)?.content ?? null;
}
