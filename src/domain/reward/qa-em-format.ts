import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { assistantBlocks, countOf, endsWithin, gapBefore } from './assistant-blocks.ts';
import { normalizeAnswer } from './exact-match.ts';

/** The score of an answer and of its form, each by itself, and the total that training got. */
export interface FormatAndAnswer {
  readonly format: number;
  readonly answer: number;
  readonly total: number;
}

/** `seed`: Agent-R1 of March 2025; `legacy`: its branch legacy, which asks less of the form and pays for half of it. */
export type QaGeneration = 'seed' | 'legacy';

const FOUR_TAGS = ['<think>', '</think>', '<tool_call>', '</tool_call>'];

/**
 * Scores a chat (ChatML) of question answering with tools as Agent-R1 does: half a point for each tool turn and for the last turn in the right form, a point for
 * a gold answer within the last turn's `<answer>` (0.2 for one anywhere in that turn), and `−1 + form (at most 1) + answer`, where the answer counts only
 * with whole form (`seed`) or half of it (`legacy`). So a right answer without tools gets −0.5 or +0.5. `em` is containment too, not equality.
 */
export function scoreQaFormat(
  chat: string,
  golds: readonly string[],
  generation: QaGeneration,
): FormatAndAnswer & { readonly em: number } {
  const blocks = assistantBlocks(chat);
  const last = blocks.at(-1);
  if (last === undefined) return { format: 0, answer: 0, total: -1, em: 0 };
  const format = blocks.slice(0, -1).filter((block) => isToolBlock(block, generation)).length * 0.5 + lastForm(last, generation);
  const [said] = findEnclosed(last, 'answer', 'as-written');
  const within = said !== undefined && containsGold(said.content, golds);
  const answer = within ? 1 : containsGold(last, golds) ? 0.2 : 0;
  const form = Math.min(format, 1);
  const counts = generation === 'seed' ? form === 1 : form >= 0.5;
  return { format, answer, total: -1 + form + (counts ? answer : 0), em: within ? 1 : 0 };
}

/** Says whether a gold answer, normalised, stands within a text, normalised. One that normalises to nothing stands everywhere. */
export function containsGold(text: string, golds: readonly string[]): boolean {
  const normal = normalizeAnswer(text);
  return golds.some((gold) => normal.includes(normalizeAnswer(gold)));
}

function isToolBlock(block: string, generation: QaGeneration): boolean {
  if (FOUR_TAGS.some((tag) => countOf(block, tag) !== 1)) return false;
  const gap = gapBefore(block, 'tool_call');
  return gap !== null && (generation === 'seed' ? gap === '\n' : pythonStrip(gap) === '');
}

function lastForm(block: string, generation: QaGeneration): number {
  if (generation === 'legacy') return gapBefore(block, 'answer') === null ? 0 : 0.5;
  const seam = '</think>\n<answer>';
  const at = block.startsWith('<think>') ? block.indexOf(seam, '<think>'.length) : -1;
  return at >= 0 && endsWithin(block, '</answer>', at + seam.length) ? 0.5 : 0;
}
