import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { countMatches, type ReadAnswer } from './projection.ts';

/**
 * Finds the action in an answer for ALFWorld by the published rules (specification of AgentOCR, §4.1): the lower-cased text
 * between the first `<action>` and the first `</action>`. It is well formed when both are present, a lower-case `<think>` and a
 * `</think>` are, nothing is written in CJK ideographs, and none of the tags that `repeats` names occurs twice. Repeated action
 * tags leave no action and no factor then. A closing tag before its opening one encloses nothing, and counts as valid all the
 * same. @param repeats the tags that may not be repeated; `all` are those of the action, of the thought and of the compression.
 */
export function findTaggedAction(
  response: string,
  { repeats }: { readonly repeats: 'none' | 'action-and-think' | 'all' },
): ReadAnswer {
  const lower = response.toLowerCase();
  const [opening, closing] = [lower.indexOf('<action>'), lower.indexOf('</action>')];
  const missing = opening < 0 || closing < 0;
  const repeated = repeats !== 'none' && (countMatches(lower, /<action>/g) > 1 || countMatches(lower, /<\/action>/g) > 1);
  const [thinks, thinkEnds] = [countMatches(response, /<think>/g), countMatches(response, /<\/think>/g)];
  return {
    action: missing || repeated ? '' : pythonStrip(lower.slice(opening + '<action>'.length, closing)),
    thought: thoughtOf(response),
    broken: [
      ...(missing ? (['no-action'] as const) : []),
      ...(repeated ? (['repeated-action-tag'] as const) : []),
      ...(thinks === 0 || thinkEnds === 0 ? (['no-think'] as const) : []),
      ...(repeats !== 'none' && (thinks > 1 || thinkEnds > 1) ? (['repeated-think-tag'] as const) : []),
      ...(/[\u4e00-\u9fff]/.test(response) ? (['cjk'] as const) : []),
      ...(repeats === 'all' && repeatsCompression(lower) ? (['repeated-compression-tag'] as const) : []),
    ],
    forced: repeated,
  };
}

/**
 * Returns the first thought in tags; without them all before the first tag of an action. For the reader only: no rule depends on
 * it.
 */
export function thoughtOf(response: string): string {
  const inside = findEnclosed(response, 'think', 'any-case')[0]?.content;
  return (inside ?? response.split(/<(?:action|search|answer|compression)>/i, 1)[0] ?? '').trim();
}

/** Returns whether an opening or a closing compression tag occurs in a lower-cased answer more than once. */
function repeatsCompression(lower: string): boolean {
  return countMatches(lower, /<compression>/g) > 1 || countMatches(lower, /<\/compression>/g) > 1;
}
