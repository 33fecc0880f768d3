import { countOf } from './assistant-blocks.ts';
import { exactMatch, lastAnswer } from './exact-match.ts';

const MOST_TAGS = 10;

/**
 * Scores a solution as verl scores Search-R1: 1 where the last `<answer>` equals a gold answer, a quarter when it has more than
 * ten opening or closing tags.
 */
export function scoreSearchR1(solution: string, golds: readonly string[]): number {
  const answer = lastAnswer(solution);
  if (answer === null || !exactMatch(answer, golds)) return 0;
  return countOf(solution, '<answer>') > MOST_TAGS || countOf(solution, '</answer>') > MOST_TAGS ? 0.25 : 1;
}
