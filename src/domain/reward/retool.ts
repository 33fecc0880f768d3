import { assistantBlocks } from './assistant-blocks.ts';
import { boxedContent } from './math/boxed-content.ts';
import { equivalentAnswers } from './math/equivalent-answers.ts';
import type { FormatAndAnswer } from './qa-em-format.ts';
import { scoreRetoolFormat } from './retool-format.ts';

/**
 * Scores a chat of ReTool as Agent-R1's branch legacy does: what the last turn boxes against the gold answer, as mathematics (1
 * or 0), where the form is kept; -1 where it is not.
 */
export function scoreRetool(chat: string, gold: string): FormatAndAnswer {
  const format = scoreRetoolFormat(chat);
  const answer = format === 1 && equivalentAnswers(boxedContent(assistantBlocks(chat).at(-1) ?? ''), gold) ? 1 : 0;
  return { format, answer, total: format === 1 ? answer : -1 };
}
