import { type GlyphAtlas, glyphAtlas } from './glyph-atlas.ts';
import type { RenderSpec } from './render-spec.ts';

/** What Python's str.isspace takes for whitespace; \s of JavaScript differs in U+001C to U+001F, U+0085 and U+FEFF. */
const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
export const SPACES = new RegExp(`[${SPACE}]+`);
const IS_SPACE = new RegExp(`^[${SPACE}]$`);

/**
 * Splits a history into segments: one per non-empty line, without the spaces at its ends (specification §1.3).
 * Half surrogates become U+FFFD, so that a segment has one form in UTF-8.
 */
export function splitSegments(context: string, spec: RenderSpec): string[] {
  let text = context.isWellFormed() ? context : context.toWellFormed();
  if (spec.text.unescape === 'backslash-quote') text = text.replaceAll('\\"', '"');
  if (spec.text.normalisation === 'nfc') text = text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').normalize('NFC');
  text = strip(text);
  if (text === '') return [];
  if (spec.text.segments === 'whole') return [text];
  return text
    .split('\n')
    .map(strip)
    .filter((line) => line !== '');
}

/** Removes what Python takes for whitespace from both ends. */
export function strip(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && IS_SPACE.test(text.charAt(from))) from++;
  while (to > from && IS_SPACE.test(text.charAt(to - 1))) to--;
  return text.slice(from, to); // two loops, as /\s+$/ takes quadratic time on a long run of spaces
}

/**
 * A cell is one UTF-16 unit that takes one place of a line. Characters beyond the BMP and those outside the atlas are replaced,
 * so that counting units counts places; the units stand in the private use area, which no atlas holds.
 */
export const BOX_CELL = 0xe000;
/** Takes a place in wrapping but is neither drawn nor advances the pen: soft hyphens, joiners, byte order marks. */
export const INVISIBLE_CELL = 0xe001;
/** ASCII character c written in the ink of escapes is ESCAPE_CELL + c. */
export const ESCAPE_CELL = 0xe100;
/** Characters of the atlas beyond the BMP: this plus their number in `beyondBmp`. */
export const ASTRAL_CELL = 0xe200;

export interface Cells {
  readonly text: string;
  /** Characters that the atlas does not hold. */
  readonly outside: number;
  /** Characters that the published renderer shapes and this one does not; 0 where characters are written out. */
  readonly unshaped: number;
}

/** Turns a segment into cells. */
export function toCells(segment: string, spec: RenderSpec): Cells {
  if (/^[\x20-\x7e\n]*$/.test(segment)) return { text: segment, outside: 0, unshaped: 0 };
  const { glyphs, px } = glyphAtlas(spec.font.px);
  let [text, outside, unshaped] = ['', 0, 0];
  for (const character of segment) {
    const code = character.codePointAt(0) ?? 0;
    if (spec.text.outside === 'box' && isShaped(character, glyphs)) unshaped++;
    if (code === 10 || (code < 0x10000 && glyphs.has(code))) text += character;
    else if (glyphs.has(code)) text += String.fromCharCode(ASTRAL_CELL + (astralPlaces(px).get(code) ?? 0));
    else if (spec.text.outside === 'box') {
      if (INVISIBLE.test(character)) text += String.fromCharCode(INVISIBLE_CELL);
      else if (isSpace(character)) text += character;
      else {
        outside++;
        text += String.fromCharCode(BOX_CELL);
      }
    } else if (isSpace(character) && code > 0x20) text += ' ';
    else {
      outside++;
      text += written(code);
    }
  }
  return { text, outside, unshaped };
}

function isSpace(character: string): boolean {
  return IS_SPACE.test(character);
}

/**
 * HarfBuzz hides what Unicode calls default ignorable, except the fillers of Hangul and the controls of shorthand, and nothing that
 * the font draws.
 */
const INVISIBLE = /^(?![\u115f\u1160\u3164\uffa0\u{1bca0}-\u{1bca3}])\p{Default_Ignorable_Code_Point}$/u;

/**
 * What libraqm draws otherwise than alone at its place, or not in every release: combining marks, blocks written from right to
 * left, whose boxes are reordered too, the controls of direction, separators of paragraphs, the vowels that Thai and Lao take apart,
 * the ideographic space, which is as wide as the font, private use and annotations, which the font draws and the atlas lacks, and
 * code points that are not assigned: a later Unicode may make them marks.
 */
const SHAPED = new RegExp(
  [
    '[\\r\\x1c-\\x1e\\x85\\u2029\\p{M}\\p{Co}\\p{Cn}\\p{Bidi_Control}\\u0e33\\u0eb3\\u3000\\ufff9-\\ufffb',
    '\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]',
  ].join(''),
  'u',
);

/** Whether the published renderer may draw a character otherwise. A text without any is drawn as published, byte for byte. */
function isShaped(character: string, glyphs: GlyphAtlas['glyphs']): boolean {
  if (SHAPED.test(character)) return true;
  if (holds(glyphs, character)) return false;
  const [base = character] = character.normalize('NFD');
  return base !== character && holds(glyphs, base); // the font draws its parts
}

function holds(glyphs: GlyphAtlas['glyphs'], character: string): boolean {
  return glyphs.has(character.codePointAt(0) ?? -1);
}

function written(code: number): string {
  const text = `\\u{${code.toString(16)}}`;
  return Array.from(text, (each) => String.fromCharCode(ESCAPE_CELL + each.charCodeAt(0))).join('');
}

const places = new Map<number, ReadonlyMap<number, number>>();

/** Numbers the characters of an atlas beyond the BMP, by rising code point. */
function astralPlaces(px: RenderSpec['font']['px']): ReadonlyMap<number, number> {
  let found = places.get(px);
  if (!found) {
    const codes = [...glyphAtlas(px).glyphs.keys()].filter((code) => code > 0xffff);
    found = new Map(codes.map((code, i) => [code, i]));
    places.set(px, found);
  }
  return found;
}

/** Returns the code point of an astral cell. */
export function astralCode(cell: number, px: RenderSpec['font']['px']): number | undefined {
  return [...astralPlaces(px).keys()][cell - ASTRAL_CELL];
}
