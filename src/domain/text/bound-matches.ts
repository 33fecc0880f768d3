/** A query of words as Postgres writes it: `'oak' & ( 'log' | 'stick' ) & !'bowl'`, phrases as `'oak' <-> 'log'`. */
type Token = { readonly word: string } | { readonly sign: '&' | '|' | '!' | '(' | ')' };

/**
 * Returns how large a share of texts a query can match at most: all words of an `&` or a phrase lie in a text, so that the
 * rarest one bounds it; what is left out (`!`) bounds nothing. @param shareOf the share of texts that hold a word.
 * @throws RangeError where the text is no query.
 */
export function boundMatches(query: string, shareOf: (word: string) => number): number {
  const tokens = tokensOf(query);
  let at = 0;
  const takes = (sign: string): boolean => {
    const token = tokens[at];
    const found = token !== undefined && 'sign' in token && token.sign === sign;
    if (found) at++;
    return found;
  };
  const any = (): number => {
    let share = all();
    while (takes('|')) share = Math.min(1, share + all());
    return share;
  };
  const all = (): number => {
    let share = one();
    while (takes('&')) share = Math.min(share, one());
    return share;
  };
  const one = (): number => {
    if (takes('!')) {
      one();
      return 1;
    }
    if (takes('(')) {
      const share = any();
      if (!takes(')')) throw new RangeError(`${query} is no query of words`);
      return share;
    }
    const token = tokens[at++];
    if (token === undefined || !('word' in token)) throw new RangeError(`${query} is no query of words`);
    return shareOf(token.word);
  };
  const share = any();
  if (at < tokens.length) throw new RangeError(`${query} is no query of words`);
  return share;
}

/** Returns the words of a query, each as often as it is there. */
export function wordsOf(query: string): readonly string[] {
  return tokensOf(query).flatMap((token) => ('word' in token ? [token.word] : []));
}

/** Whether a text that holds the words as `&` and `|` ask for them matches: nothing is left out, and no word has a place. */
export function hasOnlyWords(query: string): boolean {
  return !/[!<]/.test(query.replace(WORD, ''));
}

/** Whether a text must hold all the words: there is no alternative, and nothing is left out. */
export function hasAllWords(query: string): boolean {
  return !/[!|]/.test(query.replace(WORD, ''));
}

const WORD = /'((?:[^'\\]|''|\\.)*)'/gs;

function tokensOf(query: string): readonly Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:'((?:[^'\\]|''|\\.)*)'|(<(?:-|\d+)>)|([&|!()]))/gsy;
  const text = query.trim();
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) throw new RangeError(`${query} is no query of words`);
    const [, word, phrase, sign] = found;
    if (word !== undefined) tokens.push({ word: word.replace(/''|\\(.)/gs, (whole, escaped) => escaped ?? whole[0]) });
    else tokens.push({ sign: phrase === undefined ? (sign as '&') : '&' }); // the pattern takes no other sign
  }
  return tokens;
}
