import { pythonStrip } from '../../text/python-strip.ts';

/**
 * Normalises an answer as the grader of the MATH data set does (Hendrycks et al. 2021), text for text: line breaks, `\left`,
 * `\right`, degrees, dollar and percent signs go, `\frac12` becomes `\frac{1}{2}` and `\sqrt3` `\sqrt{3}`, whole numbers a/b
 * become fractions, a unit in `\text{ …}` goes, and all blanks. Answers that are equal then are equal. What the reference returns
 * up on stays as it was.
 */
export function normaliseLatex(answer: string): string {
  const inner = unwrapText(pythonStrip(answer));
  return strip(inner) ?? inner;
}

/** Takes the `\text{…}` off that is around a whole answer. */
function unwrapText(text: string): string {
  const whole = /^\\text\{(.+?)\}\n?$/u.exec(text)?.[1];
  return whole === undefined ? text : pythonStrip(whole);
}

/** Null where the reference fails on the way and keeps the answer as it is. */
function strip(answer: string): string | null {
  let text = answer
    .replaceAll('\n', '')
    .replaceAll('\\!', '')
    .replaceAll('\\\\', '\\')
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '');
  const [quantity = '', unit, ...more] = text.split('\\text{ ');
  if (more.length > 0) return null;
  if (unit !== undefined) text = quantity;
  text = text.replaceAll('\\%', '').replaceAll('%', '').replaceAll(' .', ' 0.').replaceAll('{.', '{0.');
  if (text === '') return text;
  if (text.startsWith('.')) text = `0${text}`;
  const [name = '', value, ...others] = text.split('=');
  if (value !== undefined && others.length === 0 && [...name].length <= 2) text = value;
  const roots = braceRoots(text);
  if (roots === null) return null;
  const fractions = braceFractions(roots.replaceAll(' ', ''));
  if (fractions === null) return null;
  return fractions === '0.5' ? '\\frac{1}{2}' : spellFraction(fractions);
}

function braceRoots(text: string): string | null {
  const [first = '', ...rest] = text.split('\\sqrt');
  if (rest.includes('')) return null; // nothing is under the root
  return first + rest.map((part) => `\\sqrt${part.startsWith('{') ? part : `{${firstOf(part)}}${afterFirst(part)}`}`).join('');
}

function braceFractions(text: string): string | null {
  const [first = '', ...rest] = text.split('\\frac');
  let made = first;
  for (const part of rest) {
    if (part === '') return null;
    if (part.startsWith('{')) made += `\\frac${part}`;
    else {
      const [above = '', below, ...after] = part;
      if (below === undefined) return text; // half a fraction: the whole text stays
      made += `\\frac{${above}}${below === '{' ? below : `{${below}}`}${after.join('')}`;
    }
  }
  return made;
}

function spellFraction(text: string): string {
  const found = /^(0|-?[1-9]\d*)\/(0|-?[1-9]\d*)$/.exec(text);
  return found ? `\\frac{${found[1]}}{${found[2]}}` : text;
}

const firstOf = (text: string): string => [...text][0] ?? '';
const afterFirst = (text: string): string => text.slice(firstOf(text).length);
