import { boxedContent, sameAnswer } from './math-answer.ts';
import { assistantBlocks, endsWithin, type FormatAndAnswer } from './qa-em-format.ts';

/**
 * Scores a chat of ReTool: what the last turn boxes against the gold answer, by form and number (1 or 0), where the turn has the
 * required form; -1 otherwise. Agent-R1's branch legacy, which this follows, compares by algebra.
 */
export function scoreRetool(chat: string, gold: string): FormatAndAnswer {
  const format = scoreRetoolFormat(chat);
  const boxed = format === 1 ? boxedContent(assistantBlocks(chat).at(-1) ?? '') : null;
  const answer = boxed !== null && sameAnswer(boxed, gold) ? 1 : 0;
  return { format, answer, total: format === 1 ? answer : -1 };
}

/**
 * Scores the form that ReTool asks for: 1 where the assistant's last turn ends in an `<answer>` with `\boxed{…}` in it, else 0.
 */
export function scoreRetoolFormat(chat: string): 0 | 1 {
  const last = assistantBlocks(chat).at(-1) ?? '';
  const answer = last.lastIndexOf('<answer>');
  const boxed = answer < 0 ? -1 : last.indexOf('\\boxed{', answer);
  const closed = boxed < 0 ? -1 : last.indexOf('}', boxed);
  return closed >= 0 && endsWithin(last, '</answer>', closed + 1) ? 1 : 0;
}
