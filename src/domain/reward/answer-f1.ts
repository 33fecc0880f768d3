import { largest } from '../extremes.ts';
import { pythonWords } from '../text/python-strip.ts';
import { normalizeAnswer } from './exact-match.ts';

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
