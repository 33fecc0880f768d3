import { assistantBlocks, endsWithin } from './assistant-blocks.ts';

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
