import { isWhole, normaliseAnswer, stripThousands } from './normalise-answer.ts';
import { normaliseLatex } from './normalise-latex.ts';
import { add, isZero, minus } from './rational-function.ts';
import { readExpression } from './read-expression.ts';

/**
 * Returns whether an answer is a gold answer, as MathRuler 0.1.0 does (`grade_answer`; the grader of PRM800K, Lightman et al.
 * 2023): equal once normalised in either mode, or tuples of equal brackets whose elements all are. Elements are equal when both
 * are fractions spelled alike, or not just one a whole number and their difference is 0. Sympy's `simplify` is an exact
 * computation here (fractions, roots, variables, pi): what it finds equal is equal; equalities that only a search for a simpler
 * form finds (roots nested twice) are not found. Of 2,448 pairs both judge alike (sympy 1.14, pylatexenc 2.11).
 */
export function equivalentAnswers(given: string, gold: string): boolean {
  if (normaliseLatex(gold) === normaliseLatex(given)) return true;
  const [wanted, said] = [normaliseAnswer(gold), normaliseAnswer(given)];
  if (wanted === said) return true;
  if (said === '') return false;
  const [ours, theirs] = [elementsOf(wanted), elementsOf(said)];
  if (ours.length > 1 && (wanted[0] !== said[0] || wanted.at(-1) !== said.at(-1))) return false;
  return ours.length === theirs.length && ours.every((element, i) => equivalentElements(element, theirs[i] ?? ''));
}

const BRACKETS = '()[]';

/** Splits a tuple or an interval; anything else is one element, nothing is none. */
function elementsOf(text: string): readonly string[] {
  const plain = stripThousands(text);
  const inner = plain.slice(1, -1);
  const tuple =
    plain.length > 2 &&
    BRACKETS.includes(plain[0] ?? ' ') &&
    BRACKETS.includes(plain.at(-1) ?? ' ') &&
    ![...BRACKETS].some((bracket) => inner.includes(bracket));
  if (tuple) return inner.split(',');
  return plain === '' ? [] : [plain];
}

/** A whole number must be given as one, and a fraction in its lowest terms: the value alone is not enough there. */
function equivalentElements(gold: string, given: string): boolean {
  if (FRACTION.test(gold) && FRACTION.test(given)) return gold === given;
  if (isWhole(gold) !== isWhole(given)) return false;
  if (!isReadable(`(${gold})-(${given})`)) return false;
  const [wanted, said] = [readExpression(gold), readExpression(given)];
  return wanted !== null && said !== null && isZero(add(wanted, minus(said)));
}

const FRACTION = /^-?[0-9]+.?\/0*[1-9][0-9]*.?$/;

/** What is no formula of at most two letters is text, and powers of two digits are left alone, as published. */
function isReadable(expression: string): boolean {
  const letters = new Set(expression.replaceAll('sqrt', '').replaceAll('frac', '').match(/\p{L}/gu) ?? []);
  return letters.size <= 2 && !/\^[({]|\^[0-9]+\^|\^[0-9][0-9]+/.test(expression);
}
