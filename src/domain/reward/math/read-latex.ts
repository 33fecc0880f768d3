import { pythonStrip } from '../../text/python-strip.ts';
import { LATEX_SYMBOLS } from './latex-symbols.ts';

/**
 * Makes plain text of the LaTeX of an answer, as MathRuler has pylatexenc do it, then its words for what the grader's parser
 * reads: `\frac{a}{b}` → `a/b` (with no parentheses: `\frac{x+1}{2}` is read as x + 1/2, as published), `\sqrt[n]{a}` →
 * `sqrt(a)`, Greek letters and signs as themselves, commands that are not known as nothing.
 */
export function readLatex(latex: string): string {
  if (latex.length > LONGEST) return latex; // as the reference leaves what its parser fails on
  const fractions = latex.replaceAll('\\tfrac', '\\frac').replaceAll('\\dfrac', '\\frac').replaceAll('\\frac', ' \\frac');
  const text = readUntil({ text: fractions, at: 0 }, null);
  const words: readonly (readonly [string, string])[] = [
    ['√', 'sqrt'],
    ['π', 'pi'],
    ['∞', 'inf'],
    ['∪', 'U'],
    ['·', '*'],
    ['×', '*'],
  ];
  return pythonStrip(words.reduce((made, [sign, word]) => made.replaceAll(sign, word), text));
}

const LONGEST = 1_000; // groups nest at most so deep; no answer is longer

interface Cursor {
  readonly text: string;
  at: number;
}

/** Reads to the end of the text, or to what closes the group. What closes nothing is left out. */
function readUntil(cursor: Cursor, closing: '}' | ']' | null): string {
  let made = '';
  while (cursor.at < cursor.text.length) {
    const next = charAt(cursor);
    if (next === closing) {
      cursor.at += next.length;
      return made;
    }
    made += readOne(cursor);
  }
  return made;
}

function readOne(cursor: Cursor): string {
  const next = charAt(cursor);
  cursor.at += next.length;
  switch (next) {
    case '\\':
      return readCommand(cursor);
    case '{':
      return readUntil(cursor, '}');
    case '}':
      return '';
    case '~':
      return '\u00a0';
    case '&':
      return '   ';
    case '-': {
      const more = /^-{1,2}/.exec(cursor.text.slice(cursor.at))?.[0].length ?? 0;
      cursor.at += more;
      return ['-', '–', '—'][more] ?? '-';
    }
    default:
      return next;
  }
}

const MARKS = new Map([
  ['bar', '\u0305'],
  ['vec', '\u20d7'],
  ['hat', '\u0302'],
  ['tilde', '\u0303'],
]);
/** Where an alphabet's small and capital letters begin in Unicode. */
const ALPHABETS = new Map([
  ['mathbf', { small: 0x1d41a, capital: 0x1d400 }],
  ['mathit', { small: 0x1d44e, capital: 0x1d434 }],
  ['mathsf', { small: 0x1d5ba, capital: 0x1d5a0 }],
  ['mathbb', { small: 0x1d552, capital: 0x1d538 }],
]);
// older than their alphabet
const DOUBLE_STRUCK = new Map(Object.entries({ C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' }));

function readCommand(cursor: Cursor): string {
  const name = /^(?:[a-zA-Z]+|[\s\S]|$)/u.exec(cursor.text.slice(cursor.at))?.[0] ?? '';
  cursor.at += name.length;
  if (/^[a-zA-Z]/.test(name)) skipBlanks(cursor);
  switch (name) {
    case 'frac': {
      const above = readArgument(cursor);
      return `${above}/${readArgument(cursor)}`;
    }
    case 'sqrt':
      if (charAt(cursor) === '[') {
        cursor.at++;
        readUntil(cursor, ']'); // which root it is gets lost, as published
      }
      return `√(${readArgument(cursor)})`;
    case 'begin':
      return readEnvironment(cursor);
    case 'mbox':
    case 'textsf':
    case 'texttt':
      readArgument(cursor);
      return '';
  }
  const mark = MARKS.get(name);
  if (mark !== undefined) return [...readArgument(cursor)].map((letter) => letter + mark).join('');
  const alphabet = ALPHABETS.get(name);
  if (alphabet)
    return readArgument(cursor).replace(/[a-zA-Z]/g, (letter) => {
      const old = name === 'mathbb' ? DOUBLE_STRUCK.get(letter) : undefined;
      const [first, base] = letter >= 'a' ? ['a', alphabet.small] : ['A', alphabet.capital];
      return old ?? String.fromCodePoint(base + letter.charCodeAt(0) - first.charCodeAt(0));
    });
  return LATEX_SYMBOLS.get(name) ?? '';
}

/** Reads one argument: a group, a command by itself, or one character. */
function readArgument(cursor: Cursor): string {
  skipBlanks(cursor);
  if (charAt(cursor) !== '\\') return readOne(cursor);
  cursor.at++;
  const name = /^(?:[a-zA-Z]+|[\s\S]|$)/u.exec(cursor.text.slice(cursor.at))?.[0] ?? '';
  cursor.at += name.length;
  return LATEX_SYMBOLS.get(name) ?? '';
}

const GRIDS = new Set(['array', 'matrix', 'pmatrix', 'bmatrix', 'smallmatrix', 'vmatrix', 'Vmatrix', 'Bmatrix']);

/** Reads an environment: a grid as `[ a b; c d ]`, of any other its content. */
function readEnvironment(cursor: Cursor): string {
  const rest = cursor.text.slice(cursor.at);
  const name = /^\{([^}]*)\}/.exec(rest)?.[1] ?? '';
  const [before = '', ...after] = rest.split(`\\end{${name}}`);
  cursor.at += before.length + (after.length > 0 ? `\\end{${name}}`.length : 0);
  const body = before.replace(/^\{[^}]*\}/, '').replace(name === 'array' ? /^\{[^}]*\}/ : /^(?!)/, '');
  if (!GRIDS.has(name)) return readUntil({ text: body, at: 0 }, null);
  const rows = body.split('\\\\').map((row) => row.split('&').map((cell) => pythonStrip(readUntil({ text: cell, at: 0 }, null))));
  return `[ ${rows.map((row) => row.join(' ')).join('; ')} ]`;
}

function skipBlanks(cursor: Cursor): void {
  while (/^\s$/.test(charAt(cursor))) cursor.at++;
}

function charAt({ text, at }: Cursor): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}
