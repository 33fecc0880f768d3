import { findEnclosed } from '../text/enclosed.ts';
import { exactMatch } from './exact-match.ts';

/**
 * Scores an episode as the HotpotQA recipe of Agent-R1 v0.1 does (specification of Agent-R1, §1.4): 1 where what the last
 * `<answer>` holds, its tags in any case, or the whole text where there is none, equals a gold answer once both are normalised,
 * else 0. Without a gold answer it is 0. @param golds the ground truth and the further answers that the row names.
 */
export function scoreHotpotqaRecipe(text: string, golds: readonly string[]): 0 | 1 {
  const said = findEnclosed(text, 'answer', 'any-case').at(-1)?.content ?? text;
  return exactMatch(said, golds) ? 1 : 0;
}
