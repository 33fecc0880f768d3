import { findEnclosed } from '../text/enclosed.ts';
import { lastCodePoints } from '../text/python-strip.ts';
import { assistantBlocks, countOf, type FormatAndAnswer, gapBefore } from './qa-em-format.ts';

const LOOKED_AT = 300; // code points from the end, as in verl
const FOUR_TAGS = ['<think>', '</think>', '<tool_call>', '</tool_call>'];

/**
 * Scores a chat of GSM8K as Agent-R1's branch legacy does: half a point for each tool turn in form, a whole one for the last; the
 * answer is the last number in `<answer>` compared as text (`4.0` is not `4`); it counts only with whole form, which two tool
 * turns give as well.
 */
export function scoreGsm8kFormat(chat: string, gold: string): FormatAndAnswer {
  const blocks = assistantBlocks(chat);
  const last = blocks.at(-1);
  if (last === undefined) return { format: 0, answer: 0, total: -1 };
  const tools = blocks.slice(0, -1).filter((block) => isToolBlock(block)).length;
  const format = tools * 0.5 + (gapBefore(last, 'answer') === null ? 0 : 1);
  const [said] = findEnclosed(last, 'answer', 'as-written');
  const number = said?.content.match(/-?\p{Nd}+\.?\p{Nd}*/gu)?.at(-1); // Python's \d knows the digits of every script
  const answer = number === gold ? 1 : 0;
  const form = Math.min(format, 1);
  return { format, answer, total: -1 + form + (form === 1 ? answer : 0) };
}

/**
 * Scores a solution of GSM8K as verl does, by its last 300 characters. `strict`: the last `#### number`, its commas and dollar
 * signs taken out; `flexible`: the last thing that looks like a number, commas and a trailing dot and all (so `42.` is not `42`).
 */
export function scoreGsm8k(solution: string, gold: string, mode: 'strict' | 'flexible'): 0 | 1 {
  const end = lastCodePoints(solution, LOOKED_AT);
  return (mode === 'strict' ? strictNumber(end) : flexibleNumber(end)) === gold ? 1 : 0;
}

function strictNumber(text: string): string | null {
  const found = [...text.matchAll(/#### (-?[0-9.,]+)/g)].at(-1)?.[1];
  return found?.replaceAll(',', '').replaceAll('$', '') ?? null;
}

function flexibleNumber(text: string): string | null {
  const found = text.match(/-?[0-9.,]+/g) ?? [];
  return found.findLast((each) => each !== '.') ?? found[0] ?? null;
}

function isToolBlock(block: string): boolean {
  return FOUR_TAGS.every((tag) => countOf(block, tag) === 1) && gapBefore(block, 'tool_call') !== null;
}
