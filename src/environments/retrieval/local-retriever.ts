import MiniSearch from 'minisearch';
import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { openCache } from '../../runtime/cache.ts';
import type { CorpusDocument, RetrievedDocument, Retriever } from './retriever.ts';

/**
 * Raised when the same corpus yields other answers; it represents MiniSearch 7.2 with the words and the settings below. Revision 1
 * cut texts into other words where a script has no spaces or lower case does not fold all: a corpus without such texts is the same
 * world as before, and keeps its name.
 */
const INDEX_REVISIONS = { plain: 1, cut: 2 } as const;
/** k and d are MiniSearch's own, b = 0.75 is the usual choice (Robertson and Zaragoza, 2009). */
const BM25 = { k: 1.2, b: 0.75, d: 0.5 };
const QUERY_LIMIT = 1_000; // characters of a query that are read: a model may write a megabyte
// different ones, each counted once: 500 times one common word took 2.8 s over 2,000 documents, once it takes 7 ms
const QUERY_WORDS = 32;
// answers; rollouts of one task ask the same again and again, and looking up costs 100 × as much as remembering
const REMEMBERED = 10_000;
const ADDED_AT_ONCE = 2_000; // documents; between these the process can do other work

/**
 * Opens a retriever over documents in memory: BM25+ over their words (letters and digits of any script, case and compatibility
 * forms folded; pairs of characters where a script writes no spaces), no stemming, no stop words; a word counts once however
 * often a query has it. Equal scores are ordered by id, so an answer is the same on every machine. The index is built once, here:
 * share the retriever. It takes some 0.25 s and 7 MB for 1,000 passages of 100 words, and a query of 5 words 1.5 ms for each
 * 1,000.
 * @param documents with distinct ids.
 */
export async function openLocalRetriever(documents: readonly CorpusDocument[]): Promise<Retriever> {
  const index = new MiniSearch<{ id: number; contents: string }>({
    fields: ['contents'],
    tokenize: indexWordsOf,
    processTerm: (term) => term,
    searchOptions: { bm25: BM25, tokenize: (query) => [...new Set(queryWordsOf(query))].slice(0, QUERY_WORDS) },
  });
  await index.addAllAsync(
    documents.map(({ contents }, id) => ({ id, contents })),
    { chunkSize: ADDED_AT_ONCE },
  );

  const answers = openCache<readonly RetrievedDocument[]>({ max: REMEMBERED });
  const find = (query: string, topK: number): readonly RetrievedDocument[] => {
    const key = `${topK} ${query}`;
    const known = answers.get(key);
    if (known) return known;
    const found = lookUp(query, topK);
    answers.set(key, found);
    return found;
  };
  const lookUp = (query: string, topK: number): readonly RetrievedDocument[] => {
    const hits = index.search(query).map(({ id, score }) => {
      const document = documents[Number(id)] as CorpusDocument; // the index knows documents by their position here
      return { ...document, score };
    });
    return hits.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, topK);
  };
  return {
    fingerprint: fingerprintCorpus(documents),
    search: async (queries, topK, signal) => {
      signal?.throwIfAborted();
      return queries.map((query) => find(cutText(query, QUERY_LIMIT), topK));
    },
    close: async () => {},
  };
}

/** Hashes a corpus with the way it is searched. The order of the documents does not count. */
export function fingerprintCorpus(documents: readonly CorpusDocument[]): string {
  const revision = documents.every(({ contents }) => hasPlainWords(contents)) ? INDEX_REVISIONS.plain : INDEX_REVISIONS.cut;
  const lines = [...documents]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, contents }) => `\n${JSON.stringify([id, contents])}`);
  return sha256Hex(JSON.stringify(['bm25+', revision, BM25]), ...lines);
}

// Scripts that are written without spaces, or (Korean) with particles joined to words. Pairs of characters stand for their words:
// a dictionary as that of `Intl.Segmenter` finds better ones, but other ones with every version of ICU, and the same query must
// find the same documents on every machine.
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]+/gu;

/** Cuts a document into the words that it is found by: of unspaced scripts each character and each pair of neighbours. */
export function indexWordsOf(text: string): string[] {
  return cut(text, (characters) => [...characters, ...pairsOf(characters)]);
}

/** Cuts a query into the words that it asks for: of unspaced scripts the pairs of neighbours, and a character that is alone. */
export function queryWordsOf(text: string): string[] {
  return cut(text, (characters) => (characters.length === 1 ? characters : pairsOf(characters)));
}

/** Whether the words of a text are what lies between its blanks and marks, in lower case, and nothing more is done to them. */
function hasPlainWords(text: string): boolean {
  return foldCase(text) === text.normalize('NFKC').toLowerCase() && text.search(UNSPACED) < 0;
}

function cut(text: string, unspaced: (characters: readonly string[]) => readonly string[]): string[] {
  const words = foldCase(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    const runs = word.match(UNSPACED);
    if (runs === null) return [word];
    const spaced = word.split(UNSPACED).filter((part) => part !== '');
    return [...spaced, ...runs.flatMap((run) => unspaced([...run]))];
  });
}

function pairsOf(characters: readonly string[]): readonly string[] {
  return characters.slice(1).map((second, i) => `${characters[i]}${second}`);
}

/**
 * Folds case and compatibility forms whole, which lower case alone does not: capitals first (ß and SS are the same word, as are ς
 * and Σ), and a dot that only the Turkish İ has is left out, so that İstanbul, Istanbul and ISTANBUL are found by each other.
 */
function foldCase(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i').replaceAll('ς', 'σ').normalize('NFKC');
}
