import { assistantBlocks } from './assistant-blocks.ts';
import { boxedContent, sameAnswer } from './math-answer.ts';
import type { FormatAndAnswer } from './qa-em-format.ts';
import { scoreRetoolFormat } from './retool-format.ts';

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
