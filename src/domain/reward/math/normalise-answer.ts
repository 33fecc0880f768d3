import { parsePythonFloat } from '../../text/python-float.ts';
import { readLatex } from './read-latex.ts';

const UNITS = [
  ...['degree', 'cm', 'centimeter', 'meter', 'mile', 'second', 'minute', 'hour'],
  ...['day', 'week', 'month', 'year', 'foot', 'feet', 'inch', 'yard'],
].map((unit) => new RegExp(`${unit}(es)?(s)? *(\\^[0-9]+)?`, 'g'));

/**
 * Normalises an answer as the grader of PRM800K does (Lightman et al. 2023), which MathRuler follows: units, percent and dollar
 * signs go, `million` becomes a power of ten, LaTeX becomes plain text, a mixed number a sum, whole numbers lose their commas and
 * decimals; blanks and braces go, letters become small.
 */
export function normaliseAnswer(answer: string): string {
  let text = /^\\text\{(.+?)\}\n?$/u.exec(answer)?.[1] ?? answer;
  text = text.replaceAll('\\%', '%').replaceAll('\\$', '$').replaceAll('$', '').replaceAll('%', '');
  text = text.replaceAll(' or ', ' , ').replaceAll(' and ', ' , ');
  text = text.replaceAll('million', '*10^6').replaceAll('billion', '*10^9').replaceAll('trillion', '*10^12');
  for (const unit of UNITS) text = text.replace(unit, '');
  text = text.replace(/\^ *\\circ/g, '');
  if (text.startsWith('{') && text.endsWith('}')) text = text.slice(1, -1);
  text = text.replace(/,\\! */g, '');
  text = wholeNumber(text) ?? text;
  if (text.includes('\\')) text = readLatex(text);
  text = text.replace(/- */g, '-').replace(/([0-9]) +([0-9])/g, '$1+$2');
  text = text.replaceAll(' ', '').replaceAll('{', '').replaceAll('}', '').toLowerCase();
  return wholeNumber(stripThousands(text)) ?? text;
}

/** Returns whether a text is a whole number, commas between its thousands or not. */
export function isWhole(text: string): boolean {
  return wholeNumber(stripThousands(text)) !== null;
}

/** Takes the commas out of well-formed thousands; those between the elements of a tuple stay. */
export function stripThousands(text: string): string {
  for (let [before, after] = ['', text]; ; ) {
    before = after;
    after = before.replace(/(\p{Nd}),(\p{Nd}\p{Nd}\p{Nd})($|\P{Nd})/gu, '$1$2$3');
    if (after === before) return after;
  }
}

/** Writes a number that lies within 10⁻⁷ of a whole one as that; null for any other text. */
function wholeNumber(text: string): string | null {
  const value = parsePythonFloat(text);
  if (value === null || !Number.isFinite(value) || Math.abs(value - Math.round(value)) > 1e-7) return null;
  return String(BigInt(Math.round(value)));
}
