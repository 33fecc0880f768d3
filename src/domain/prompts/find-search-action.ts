import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { thoughtOf } from './find-tagged-action.ts';
import { countMatches, type ReadAnswer } from './projection.ts';

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
