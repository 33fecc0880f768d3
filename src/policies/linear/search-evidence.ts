import type { Situation } from './situation.ts';
import { wordsOf } from './words.ts';

/**
 * How a candidate of searching relates to the question and to what was found, read from the texts alone. The question names its
 * relations with the last hop first (`the owner of the employer of NAME`), so a word's place among those before `of` shows which
 * hop it is. Returns one name for the whole relation of an action; null for an action that is no search and no answer, so that
 * other worlds are not touched.
 * - source of the name: the question, a document, neither;
 * - hop of the search word: the first, a later one, not asked for (answers have none);
 * - linked: a sentence holds the name together with the word and the name of an earlier search for the hop just before.
 */
export function createEvidence(situation: Situation): (action: string) => string | null {
  const sentences = situation.history.flatMap(({ observation }) => sentencesIn(observation));
  const searches = situation.history.flatMap(({ action }) => {
    const read = readAction(action);
    return read?.verb === 'search' ? [read] : [];
  });
  const question = wordsOf(situation.goal, 40);
  const hops = question.filter((_, i) => question[i + 1] === 'of');

  return (action) => {
    const read = readAction(action);
    if (read === null) return null;
    const { verb, name, key } = read;
    const hop = key === null ? -1 : hops.indexOf(key);
    const before = hops[hop + 1]; // of an answer the last hop, of a search the one before it
    const mentions = sentences.filter((sentence) => holds(sentence, name));
    const linked =
      before !== undefined &&
      (verb === 'answer' || hop >= 0) &&
      searches.some(
        (search) =>
          search.key === before &&
          search.name.join(' ') !== name.join(' ') &&
          mentions.some((sentence) => sentence.includes(before) && holds(sentence, search.name)),
      );
    const source = holds(question, name) ? 'question' : mentions.length > 0 ? 'document' : 'nowhere';
    const place = verb === 'answer' ? 'answer' : hop < 0 ? 'unasked' : hop === hops.length - 1 ? 'first' : 'later';
    return `${source}|${place}|${linked}`;
  };
}

function readAction(
  action: string,
): { readonly verb: 'search' | 'answer'; readonly name: readonly string[]; readonly key: string | null } | null {
  const [, verb, text = ''] = /^<(search|answer)>([^<]{0,500})<\//.exec(action) ?? [];
  const words = wordsOf(text, 16);
  if (verb === 'search') return { verb, name: words.slice(0, -1), key: words.at(-1) ?? null };
  return verb === 'answer' ? { verb, name: words, key: null } : null;
}

function sentencesIn(observation: string): readonly (readonly string[])[] {
  if (!observation.startsWith('<information>')) return [];
  return observation
    .slice(0, 8_192)
    .split(/Doc \d+: /)
    .slice(1, 11)
    .map((text) => wordsOf(text.replaceAll('\\n', ' '), 40));
}

function holds(words: readonly string[], part: readonly string[]): boolean {
  return part.length > 0 && words.some((_, i) => part.every((word, j) => words[i + j] === word));
}
