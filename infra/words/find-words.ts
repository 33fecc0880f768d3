import { ALLOWED, REPLACED_WORDS, type ReplacedWord } from './words.ts';

export interface Finding {
  readonly line: number;
  readonly found: string;
  readonly write: string;
}

const COMMENT_WIDTH = 130;
const byWord = (scope: ReplacedWord['scope']) =>
  new Map(REPLACED_WORDS.filter((entry) => entry.scope === scope).map((entry) => [entry.word, entry.write]));
const ANYWHERE = byWord('anywhere');
const PROSE = byWord('prose');
const FIRST = byWord('first');
const ANY_OF = [...ANYWHERE.keys()].join('|');
/** Narrows a text to what may hold a word at all: most files hold none. */
const MAY_HOLD = new RegExp(ANY_OF, 'i');
const PROSE_WORD = new RegExp(
  `(?<![\\w$.-])(?:${[...PROSE.keys()].join('|').replaceAll(' ', '\\s+(?:[*/#-]+\\s+)?')})(?![\\w$-])`,
  'gi',
);
const FIRST_WORD = new RegExp(
  `(?:/\\*\\*?|//|#|--|"""?)[ \\t]*(?:\\n[ \\t]*\\*[ \\t]*)?(${[...FIRST.keys()].join('|')})\\b(?!-)`,
  'gi',
);
/** Comments and texts of TypeScript and JavaScript; a regular expression with a quote in it only ends a text early. */
const PARTS = /\/\*[\s\S]*?\*\/|(?<![:\w])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/g;
const COMMENTS: Readonly<Record<string, RegExp>> = {
  py: /"""[\s\S]*?"""|#[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g,
  sql: /--[^\n]*/g,
  graphql: /"""[\s\S]*?"""|"[^"\n]*"|#[^\n]*/g,
};

/** Returns what a file says that is to be said otherwise, its name included, by line; line 0 is the name. */
export function findWords(path: string, text: string): readonly Finding[] {
  const searched = ALLOWED.reduce(
    (rest, { text: allowed, files }) => (files === undefined || files.test(path) ? rest.replace(allowed, blank) : rest),
    text,
  );
  return [
    ...wordsIn(path).map((found) => ({ ...found, line: 0 })),
    ...(MAY_HOLD.test(searched) ? wordsIn(searched).map(({ at, ...found }) => ({ ...found, line: lineOf(searched, at) })) : []),
    ...phrasesIn(path, searched).map(({ at, ...found }) => ({ ...found, line: lineOf(searched, at) })),
  ];
}

/** Returns the lines of a file's comments that are wider than 130 columns. */
export function findWideComments(path: string, text: string): readonly number[] {
  const comment = /\.(?:ts|mjs|js)$/.test(path)
    ? /^\s*(?:\/\/|\/\*|\*)/
    : /\.(?:py|sql|graphql)$/.test(path)
      ? /^\s*(?:#|--)/
      : undefined;
  if (comment === undefined) return [];
  return text.split('\n').flatMap((line, i) => (line.length > COMMENT_WIDTH && comment.test(line) ? [i + 1] : []));
}

interface Found {
  readonly at: number;
  readonly found: string;
  readonly write: string;
}

/** Words of identifiers, of file names and of sentences alike: letters, split where a capital begins a word. */
function wordsIn(text: string): Found[] {
  const found: Found[] = [];
  for (const { 0: word, index } of text.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)) {
    const write = ANYWHERE.get(word.toLowerCase());
    if (write !== undefined) found.push({ at: index, found: word, write });
  }
  return found;
}

function phrasesIn(path: string, text: string): Found[] {
  const parts = /\.(?:ts|mjs|js)$/.test(path) ? PARTS : COMMENTS[path.slice(path.lastIndexOf('.') + 1)];
  const prose = parts === undefined ? text : onlyMatches(text, parts);
  const search = (pattern: RegExp, writes: ReadonlyMap<string, string>, group: number) =>
    [...prose.matchAll(pattern)].map((match) => {
      const found = (match[group] ?? '').replace(/\s+(?:[*/#-]+\s+)?/g, ' ');
      return { at: match.index, found, write: writes.get(found.toLowerCase()) ?? '' };
    });
  return [...search(PROSE_WORD, PROSE, 0), ...(parts === undefined ? [] : search(FIRST_WORD, FIRST, 1))];
}

/** Blanks all of a text but what matches, so that places stay. */
function onlyMatches(text: string, pattern: RegExp): string {
  let [kept, end] = ['', 0];
  for (const { 0: part, index } of text.matchAll(pattern)) {
    kept += blank(text.slice(end, index)) + part;
    end = index + part.length;
  }
  return kept + blank(text.slice(end));
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < at; i = text.indexOf('\n', i + 1)) line++;
  return line;
}
