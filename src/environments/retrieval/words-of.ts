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
export function hasPlainWords(text: string): boolean {
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
