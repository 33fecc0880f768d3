import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { exactMatch, lastAnswer, normalizeAnswer } from './exact-match.ts';

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
 * Scores a chat (ChatML) of question answering with tools as Agent-R1 does: half a point for each tool turn and for the last turn
 * in the right form, a point for a gold answer within the last turn's `<answer>` (0.2 for one anywhere in that turn), and `−1 +
 * form (at most 1) + answer`, where the answer counts only with whole form (`seed`) or half of it (`legacy`). So a right answer
 * without tools gets −0.5 or +0.5. `em` is containment too, not equality.
 */
export function scoreQaFormat(
  chat: string,
  golds: readonly string[],
  generation: QaGeneration,
): FormatAndAnswer & { readonly em: number } {
  const { last, toolTurnsInForm, lastInForm } = readForm(chat, generation);
  if (last === null) return { format: 0, answer: 0, total: -1, em: 0 };
  const format = 0.5 * toolTurnsInForm + (lastInForm ? 0.5 : 0);
  const [said] = findEnclosed(last, 'answer', 'as-written');
  const within = said !== undefined && containsGold(said.content, golds);
  const answer = within ? 1 : containsGold(last, golds) ? 0.2 : 0;
  const form = Math.min(format, 1);
  const counts = generation === 'seed' ? form === 1 : form >= 0.5;
  return { format, answer, total: -1 + form + (counts ? answer : 0), em: within ? 1 : 0 };
}

/**
 * Scores a chat by the equation that the technical report prints, which no code computes: equality with a gold answer where the
 * last turn and every tool turn are in form (as `seed` asks), else how much of that is in form, less one. A chat without tool
 * turns has none out of form.
 */
export function scoreQaReported(chat: string, golds: readonly string[]): FormatAndAnswer {
  const { last, toolTurns, toolTurnsInForm, lastInForm } = readForm(chat, 'seed');
  const [answerForm, toolForm] = [lastInForm ? 1 : 0, toolTurns === toolTurnsInForm && last !== null ? 1 : 0];
  const [said] = findEnclosed(last ?? '', 'answer', 'as-written');
  const answer = said !== undefined && exactMatch(said.content, golds) ? 1 : 0;
  return { format: (answerForm + toolForm) / 2, answer, total: reportedReward({ answerForm, toolForm, exactMatch: answer }) };
}

/** What of a chat is in form. */
interface Form {
  readonly last: string | null;
  readonly toolTurns: number;
  readonly toolTurnsInForm: number;
  readonly lastInForm: boolean;
}

function readForm(chat: string, generation: QaGeneration): Form {
  const blocks = assistantBlocks(chat);
  const last = blocks.at(-1) ?? null;
  return {
    last,
    toolTurns: Math.max(0, blocks.length - 1),
    toolTurnsInForm: blocks.slice(0, -1).filter((block) => isToolBlock(block, generation)).length,
    lastInForm: last !== null && isLastInForm(last, generation),
  };
}

/**
 * Returns whether a gold answer, normalised, occurs within a text, normalised. One that normalises to nothing occurs everywhere.
 */
export function containsGold(text: string, golds: readonly string[]): boolean {
  const normal = normalizeAnswer(text);
  return golds.some((gold) => normal.includes(normalizeAnswer(gold)));
}

function isToolBlock(block: string, generation: QaGeneration): boolean {
  if (FOUR_TAGS.some((tag) => countOf(block, tag) !== 1)) return false;
  const gap = gapBefore(block, 'tool_call');
  return gap !== null && (generation === 'seed' ? gap === '\n' : pythonStrip(gap) === '');
}

function isLastInForm(block: string, generation: QaGeneration): boolean {
  if (generation === 'legacy') return gapBefore(block, 'answer') !== null;
  const seam = '</think>\n<answer>';
  const at = block.startsWith('<think>') ? block.indexOf(seam, '<think>'.length) : -1;
  return at >= 0 && endsWithin(block, '</answer>', at + seam.length);
}

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

/**
 * Returns the reward that Agent-R1's technical report prints (equation 6), which is not what its code pays: the exact match where
 * answer and tool calls are all in form, else how much of the form is there, less one.
 */
export function reportedReward(parts: {
  readonly answerForm: number;
  readonly toolForm: number;
  readonly exactMatch: number;
}): number {
  const form = (parts.answerForm + parts.toolForm) / 2;
  return form === 1 ? parts.exactMatch : form - 1;
}

const HEADER = '<|im_start|>assistant\n';
const END = '<|im_end|>';

/**
 * Finds what the assistant said in a chat written as ChatML: the texts between its header and the next `<|im_end|>`. An open last
 * block is none.
 */
export function assistantBlocks(chat: string): string[] {
  const blocks: string[] = [];
  for (let from = 0; ; ) {
    const start = chat.indexOf(HEADER, from);
    const end = start < 0 ? -1 : chat.indexOf(END, start + HEADER.length);
    if (end < 0) return blocks;
    blocks.push(chat.slice(start + HEADER.length, end));
    from = end + END.length;
  }
}

/**
 * Takes what is between `<think>…</think>` at the beginning of a block and `<tag>…</tag>` at its end; null where the block is
 * not made so.
 */
export function gapBefore(block: string, tag: string): string | null {
  const thoughtEnd = block.startsWith('<think>') ? block.indexOf('</think>', '<think>'.length) : -1;
  const opening = thoughtEnd < 0 ? -1 : block.indexOf(`<${tag}>`, thoughtEnd + '</think>'.length);
  if (opening < 0 || !endsWithin(block, `</${tag}>`, opening + tag.length + 2)) return null;
  return block.slice(thoughtEnd + '</think>'.length, opening);
}

/** Returns whether a text ends with a tag that begins at `from` or later. Python's `$` also matches before one last newline. */
export function endsWithin(text: string, tag: string, from: number): boolean {
  return [tag, `${tag}\n`].some((end) => text.endsWith(end) && text.length - end.length >= from);
}

/** Counts a tag in a text. */
export function countOf(text: string, tag: string): number {
  return text.split(tag).length - 1;
}
