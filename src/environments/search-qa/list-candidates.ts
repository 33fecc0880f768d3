/** What a choice is made from: the names and words of a world. */
export interface Lexicon {
  /** Finds the names of entities in a text, by their first place in it, each once. */
  namesIn(text: string): readonly string[];
}

/** The agent's state, as far as the choice depends on it. */
export interface SearchState {
  readonly question: string;
  readonly relationWords: readonly string[];
  /** The documents of each search so far, in order. */
  readonly found: readonly (readonly string[])[];
  readonly queries: readonly string[];
}

const ACTION_LIMIT = 40; // a linear policy weighs every one at every step, and each is recorded with the step

/** Prepares the search for names in texts. A name within a longer name does not count. */
export function createLexicon(entities: readonly string[]): Lexicon {
  const longestFirst = [...entities].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = longestFirst.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
  const names = new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`, 'gu');
  return { namesIn: (text) => (entities.length === 0 ? [] : [...new Set(text.match(names) ?? [])]) };
}

/**
 * Lists what a policy that picks and does not write may do: search for any entity met so far (in the question or a document)
 * together with any relation word, unless that was searched already, and answer with any entity that a document named and the
 * question does not. What was found last comes first where there are more than 40; the list itself is in alphabetical order, so
 * that a place in it carries no information.
 */
export function listCandidates(lexicon: Lexicon, { question, relationWords, found, queries }: SearchState): readonly string[] {
  const asked = lexicon.namesIn(question);
  const met = [...new Set(found.toReversed().flatMap((documents) => documents.flatMap((text) => lexicon.namesIn(text))))];
  const answers = met.filter((name) => !asked.includes(name));
  const searched = new Set(queries);

  const actions: string[] = [];
  const room = (more: readonly string[]) => actions.length + more.length <= ACTION_LIMIT;
  for (const name of [...new Set([...asked, ...met])]) {
    const searches = relationWords.map((word) => `${name} ${word}`).filter((query) => !searched.has(query));
    const own = [
      ...searches.map((query) => `<search>${query}</search>`),
      ...(answers.includes(name) ? [`<answer>${name}</answer>`] : []),
    ];
    if (room(own)) for (const each of own) actions.push(each);
  }
  return actions.sort();
}
