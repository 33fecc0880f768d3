import { type FactorReading, readFactor } from '../compression/factor-reward.ts';
import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { parseThoughtAction } from './parse-thought-action.ts';
import type { TemplateName } from './prompt-template.ts';

/**
 * Reads what an answer means in its world: the action, whether the answer keeps the form that was asked for, and the factor for
 * the next history image. With `compression` off every factor is 1. A missing or bad factor never makes an answer invalid
 * (specification of AgentOCR, §2.2).
 */
export function projectResponse(name: TemplateName, response: string, options: { readonly compression: boolean }): Projection {
  const found = find(name, response, options);
  const reading = options.compression ? readFactor(response) : null;
  const forced = found.forced && reading !== null;
  return {
    action: found.action,
    thought: found.thought,
    valid: found.broken.length === 0,
    factor: found.forced ? 1 : (reading?.factor ?? 1),
    reading,
    flags: [
      ...found.broken,
      ...(found.action === '' && found.broken.length === 0 ? (['empty-action'] as const) : []),
      ...(forced ? (['factor-forced'] as const) : []),
    ],
  };
}

function find(name: TemplateName, response: string, { compression }: { readonly compression: boolean }): ReadAnswer {
  switch (name) {
    case 'alfworld':
      return findTaggedAction(response, { repeats: compression ? 'all' : 'action-and-think' });
    case 'search-qa':
      return findSearchAction(response);
    case 'webshop':
      return findShopAction(response);
    case 'textcraft':
      return findCommand(response);
    default:
      return name satisfies never;
  }
}

/**
 * As in ALFWorld, but no tags are counted, and the last 20 characters stand for an action that is missing (specification of
 * AgentOCR, §4.3).
 */
function findShopAction(response: string): ReadAnswer {
  const taggedAction = findTaggedAction(response, { repeats: 'none' });
  return taggedAction.broken.includes('no-action')
    ? { ...taggedAction, action: [...response.toLowerCase()].slice(-20).join('') }
    : taggedAction;
}

/**
 * TextCraft's form is lines, not tags; the factor's own line is taken out first, so that it is not read as what follows the
 * command.
 */
function findCommand(response: string): ReadAnswer {
  const { thought, action, wellFormatted } = parseThoughtAction(withoutFactor(response));
  const broken = action === '' ? (['no-action'] as const) : wellFormatted ? [] : (['not-well-formatted'] as const);
  return { action, thought, broken, forced: false };
}

function withoutFactor(response: string): string {
  let [kept, from] = ['', 0];
  for (const { start, end } of findEnclosed(response, 'compression', 'any-case')) {
    kept += response.slice(from, start);
    from = end;
  }
  return kept + response.slice(from);
}

/** What an answer breaks, or what was done with it. Every flag but the two at the end makes it invalid. */
export type ProjectionFlag =
  | 'no-action'
  | 'repeated-action-tag'
  | 'no-think'
  | 'repeated-think-tag'
  | 'cjk'
  | 'repeated-compression-tag'
  | 'search-and-answer'
  | 'repeated-search-tag'
  | 'repeated-answer-tag'
  | 'not-well-formatted'
  /** The tags enclose nothing; the published rules call that a valid action. */
  | 'empty-action'
  /** The step's factor is 1 whatever the answer asked for: no image follows it, or nothing in it counts. */
  | 'factor-forced';

/** What an answer means in its world. */
export interface Projection {
  /** What is given to the world: a command, or in Search the query or answer with its tags; '' where there is none. */
  readonly action: string;
  readonly thought: string;
  /** Keeps the rules of the world's form. Whether the world knows the action is not asked here. */
  readonly valid: boolean;
  /** The factor of the next history image; 1 where no compression was asked for. */
  readonly factor: number;
  /** How the factor was read; null where no compression was asked for. */
  readonly reading: FactorReading | null;
  readonly flags: readonly ProjectionFlag[];
}

/** What one world's rules find in an answer, before the factor. */
interface ReadAnswer {
  readonly action: string;
  readonly thought: string;
  readonly broken: readonly Exclude<ProjectionFlag, 'empty-action' | 'factor-forced'>[];
  /** The factor is 1 whatever is asked for. */
  readonly forced: boolean;
}

/** Counts how often a pattern (with flag `g`) occurs. */
function countMatches(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

/**
 * Finds the action in an answer for ALFWorld by the published rules (specification of AgentOCR, §4.1): the lower-cased text
 * between the first `<action>` and the first `</action>`. It is well formed when both are present, a lower-case `<think>` and a
 * `</think>` are, nothing is written in CJK ideographs, and none of the tags that `repeats` names occurs twice. Repeated action
 * tags leave no action and no factor then. A closing tag before its opening one encloses nothing, and counts as valid all the
 * same. @param repeats the tags that may not be repeated; `all` are those of the action, of the thought and of the compression.
 */
function findTaggedAction(response: string, { repeats }: { readonly repeats: 'none' | 'action-and-think' | 'all' }): ReadAnswer {
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
function thoughtOf(response: string): string {
  const inside = findEnclosed(response, 'think', 'any-case')[0]?.content;
  return (inside ?? response.split(/<(?:action|search|answer|compression)>/i, 1)[0] ?? '').trim();
}

/** Returns whether an opening or a closing compression tag occurs in a lower-cased answer more than once. */
function repeatsCompression(lower: string): boolean {
  return countMatches(lower, /<compression>/g) > 1 || countMatches(lower, /<\/compression>/g) > 1;
}

/**
 * Finds the search or the answer in an answer for Search by the published rules (specification of AgentOCR, §4.2): all behind the
 * first `</search>`, or where there is none behind the first `</answer>`, is cut off; then a search goes before an answer. It is
 * written with lower-case tags and without blanks at its ends. Both kinds of tag, or one kind twice, anywhere in the answer make
 * it invalid, but the action counts. An answer ends the episode, so its factor is 1. Thoughts and scripts are not checked.
 */
export function findSearchAction(response: string): ReadAnswer {
  const kept = cutAfter(response, '</search>') ?? cutAfter(response, '</answer>') ?? response;
  const [query, reply] = [firstIn(kept, 'search'), firstIn(kept, 'answer')];
  const [searches, answers] = [countMatches(response, /<search>/gi), countMatches(response, /<answer>/gi)];
  const answered = query === undefined && reply !== undefined;
  return {
    action: query !== undefined ? tagged('search', query) : reply !== undefined ? tagged('answer', reply) : '',
    thought: thoughtOf(response),
    broken: [
      ...(query === undefined && reply === undefined ? (['no-action'] as const) : []),
      ...(searches > 0 && answers > 0 ? (['search-and-answer'] as const) : []),
      ...(searches > 1 ? (['repeated-search-tag'] as const) : []),
      ...(answers > 1 ? (['repeated-answer-tag'] as const) : []),
    ],
    forced: answered,
  };
}

function firstIn(text: string, tag: string): string | undefined {
  return findEnclosed(text, tag, 'any-case')[0]?.content;
}

function cutAfter(text: string, tag: string): string | null {
  const at = text.indexOf(tag);
  return at < 0 ? null : text.slice(0, at + tag.length);
}

function tagged(tag: string, content: string): string {
  return `<${tag}>${pythonStrip(content)}</${tag}>`;
}
