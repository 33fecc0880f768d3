import { pythonStrip } from '../text/python-strip.ts';

/**
 * Returns the content of the last `\boxed{…}` of a text, its braces balanced, without white space around it; null without one
 * that closes.
 */
export function boxedContent(text: string): string | null {
  const opening = '\\boxed{';
  const start = text.lastIndexOf(opening);
  if (start < 0) return null;
  const content = text.slice(start + opening.length);
  let depth = 0;
  for (let i = 0; i < content.length; i++) {
    if (content[i] === '{') depth++;
    if (content[i] === '}') depth--;
    if (depth < 0) return pythonStrip(content.slice(0, i));
  }
  return null;
}

/**
 * Returns whether an answer is a gold answer by its form: the same string once both are normalised, as the grader of the MATH
 * data set does (Hendrycks et al. 2021), or the same number as an integer, a decimal, a fraction or a mixed number, compared
 * exactly. Algebra is left to the reward `math-verify`: `x+x` is not `2x` here.
 */
export function sameAnswer(answer: string, gold: string): boolean {
  const [given, wanted] = [normalise(answer), normalise(gold)];
  if (given === wanted) return true;
  const [a, b] = [numberOf(given), numberOf(wanted)];
  return a !== null && b !== null && a.numerator * b.denominator === b.numerator * a.denominator;
}

const KEPT: ReadonlyMap<string, string> = new Map([
  ['\\\\', '\\\\'],
  ['{,}', ','],
]);
const UNIT =
  /(?:degree|cm|centimeter|meter|mile|second|minute|hour|day|week|month|year|foot|feet|inch|yard)(?:es)?s?(?:\^\{?[0-9]+\}?)?$/;

function normalise(answer: string): string {
  let text = answer
    .replace(/\\\\|\\(?:left|right)(?![a-z])|\\[!,;: $%]|[$%\n]|\{,\}|\^\{?\\circ\}?/g, (sign) => KEPT.get(sign) ?? '')
    .replace(/\\[dt]frac/g, '\\frac');
  text = pythonStrip(text);
  text = /^\\text\{([^{}]*)\}$/.exec(text)?.[1] ?? text.replace(/\\text\{ [^{}]*\}$/, ''); // the whole answer, or its unit
  text = text
    .replace(/([0-9]) +(?=[0-9]+\/[0-9])/g, '$1+')
    .replace(/\s/g, '')
    .toLowerCase();
  text = text.replace(/^[^=]{1,2}=(?=[^=]*$)/, ''); // x=5
  text = text.replace(/\\sqrt([^{[])/g, '\\sqrt{$1}').replace(/\\frac([0-9a-z])([0-9a-z])/g, '\\frac{$1}{$2}');
  text = text.replace(
    /(?<=([0-9])?)\\frac\{(-?[0-9]+)\}\{(-?[0-9]+)\}/g,
    (_, whole, above, below) => `${whole ? '+' : ''}${above}/${below}`,
  );
  text = text.replace(/(?<![0-9a-z])(?=\.[0-9])/g, '0').replace(UNIT, '');
  return /^-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?$/.test(text) ? text.replaceAll(',', '') : text;
}

interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const LONGEST = 1_000; // digits of a number that is compared: no answer has more
const FRACTION = /^(-?)(?:([0-9]+)\+)?([0-9]+)\/(-?[0-9]+)$/; // 1+1/2 is a mixed number

function numberOf(text: string): Fraction | null {
  if (text.length > LONGEST) return null;
  const decimal = /^(-?)([0-9]+)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,3}))?$/.exec(text);
  if (decimal) {
    const [, sign = '', whole = '', decimals = '', exponent = '0'] = decimal;
    const shift = Number(exponent) - decimals.length;
    const digits = BigInt(`${sign}1`) * BigInt(whole + decimals);
    return { numerator: digits * 10n ** BigInt(Math.max(shift, 0)), denominator: 10n ** BigInt(Math.max(-shift, 0)) };
  }
  const fraction = FRACTION.exec(text);
  if (!fraction) return null;
  const [, sign = '', whole = '0', above = '', below = ''] = fraction;
  const denominator = BigInt(below);
  if (denominator === 0n) return null;
  return { numerator: BigInt(`${sign}1`) * (BigInt(whole) * denominator + BigInt(above)), denominator };
}
