import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { countMatches, type ReadAnswer } from './projection.ts';

/**
 * Finds the action in an answer for ALFWorld by the published rules (specification of AgentOCR, §4.1): the lower-cased text
 * between the first `<action>` and the first `</action>`. It is well formed when both are there once, one lower-case `<think>`
 * and one `</think>` are there, nothing is written in CJK ideographs, and no compression tag is repeated. Repeated action tags
 * leave no action and no factor. A closing tag before its opening one encloses nothing, and counts as valid all the same. An
 * answer without the tags has no action (not published; the reference has no vector for it).
 */
export function findTaggedAction(response: string): ReadAnswer {
  const lower = response.toLowerCase();
  const [opening, closing] = [lower.indexOf('<action>'), lower.indexOf('</action>')];
  const missing = opening < 0 || closing < 0;
  const repeated = countMatches(lower, /<action>/g) > 1 || countMatches(lower, /<\/action>/g) > 1;
  const [thinks, thinkEnds] = [countMatches(response, /<think>/g), countMatches(response, /<\/think>/g)];
  return {
    action: missing || repeated ? '' : pythonStrip(lower.slice(opening + '<action>'.length, closing)),
    thought: thoughtOf(response),
    broken: [
      ...(missing ? (['no-action'] as const) : []),
      ...(repeated ? (['repeated-action-tag'] as const) : []),
      ...(thinks === 0 || thinkEnds === 0 ? (['no-think'] as const) : []),
      ...(thinks > 1 || thinkEnds > 1 ? (['repeated-think-tag'] as const) : []),
      ...(/[\u4e00-\u9fff]/.test(response) ? (['cjk'] as const) : []),
      ...(repeatsCompression(lower) ? (['repeated-compression-tag'] as const) : []),
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
