import { largest } from '../extremes.ts';
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

/**
 * Returns the F1 of an answer's words against the best of the gold answers, both normalised, as SQuAD's script does; two empty
 * ones are equal.
 */
export function answerF1(prediction: string, golds: readonly string[]): number {
  const words = pythonWords(normalizeAnswer(prediction));
  return largest(
    golds.map((gold) => f1(words, pythonWords(normalizeAnswer(gold)))),
    0,
  );
}

function f1(predicted: readonly string[], gold: readonly string[]): number {
  if (predicted.length === 0 || gold.length === 0) return predicted.length === gold.length ? 1 : 0;
  const left = new Map<string, number>();
  for (const word of gold) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of predicted) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    shared++;
  }
  return (2 * shared) / (predicted.length + gold.length);
}

/**
 * Scores an episode as the HotpotQA recipe of Agent-R1 v0.1 does (specification of Agent-R1, §1.4): 1 where what the last
 * `<answer>` holds, its tags in any case, or the whole text where there is none, equals a gold answer once both are normalised,
 * else 0. Without a gold answer it is 0. @param golds the ground truth and the further answers that the row names.
 */
export function scoreHotpotqaRecipe(text: string, golds: readonly string[]): 0 | 1 {
  const said = findEnclosed(text, 'answer', 'any-case').at(-1)?.content ?? text;
  return exactMatch(said, golds) ? 1 : 0;
}
