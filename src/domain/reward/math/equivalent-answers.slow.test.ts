import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { boxedContent } from './boxed-content.ts';
import { equivalentAnswers } from './equivalent-answers.ts';
import { readExpression } from './read-expression.ts';

/**
 * An answer, the gold answer, and what `grade_answer` of MathRuler 0.1.0 says of them, run on sympy 1.14.0 and pylatexenc 2.11.
 */
const JUDGED: readonly (readonly [string, string, boolean])[] = [
  ['5', '5.0', true],
  ['05', '5', true],
  ['1/2', '0.5', true],
  ['2/4', '1/2', false],
  [String.raw`\frac{2}{4}`, String.raw`\frac{1}{2}`, false],
  [String.raw`\frac12`, '0.5', true],
  ['.5', String.raw`\dfrac{1}{2}`, true],
  ['0.50', String.raw`\frac12`, true],
  [String.raw`50\%`, '50', true],
  ['1,000,000', '10^6', false],
  ['1 million', '1,000,000', false],
  ['1{,}000', '1000', true],
  [String.raw`5 \text{ cm}`, '5', true],
  ['3 feet', '3', true],
  [String.raw`90^\circ`, '90', true],
  ['x=5', '5', true],
  ['y=2x+1', '1+2x', false],
  ['x+x+1', '2x+1', true],
  [String.raw`\sqrt{8}`, String.raw`2\sqrt{2}`, true],
  [String.raw`\sqrt2\sqrt3`, String.raw`\sqrt6`, true],
  [String.raw`\frac{1}{\sqrt{2}}`, String.raw`\frac{\sqrt{2}}{2}`, true],
  [String.raw`\sqrt{3+2\sqrt{2}}`, String.raw`1+\sqrt{2}`, true],
  [String.raw`\sqrt[3]{8}`, '2', false],
  [String.raw`\sqrt[3]{8}`, String.raw`2\sqrt{2}`, true],
  [String.raw`\frac{4}{3}\pi`, String.raw`4\pi/3`, true],
  [String.raw`\frac{4\pi}{3}`, String.raw`\frac43\pi`, true],
  ['3.14', String.raw`\pi`, false],
  ['(x+1)^2', 'x^2+2x+1', true],
  ['x(x+2)+1', '(x+1)(x+1)', true],
  [String.raw`\frac{x+1}{2}`, '(x+1)/2', false],
  [String.raw`\frac{x+1}{2}`, 'x+0.5', true],
  [String.raw`\frac{x^2-1}{x-1}`, 'x+1', false],
  ['2^{10}', '1024', false],
  ['2^9', '512', false],
  ['1.5', String.raw`1\frac12`, true],
  ['1 1/2', String.raw`\frac32`, true],
  ['(0.5,3)', String.raw`(\frac{1}{2},3)`, true],
  ['(1,2)', '(2,1)', false],
  ['(1,2)', '[1,2]', false],
  [String.raw`\left(1,2\right)`, '(1, 2)', true],
  ['1 and 2', '1, 2', true],
  [String.raw`(-\infty,5)`, String.raw`(-\infty, 5)`, true],
  [String.raw`\text{Tuesday}`, 'tuesday', true],
  ['A', '(A)', true],
  ['abc', 'cba', false],
  ['ab', 'ba', true],
  ['0.3333333333', '1/3', false],
  ['6', '3!', false],
  ['i+1', '1+i', true],
  [String.raw`\ln 4`, String.raw`2\ln 2`, true],
  ['ln(4)', '2ln(2)', true],
  [String.raw`\sqrt{4x}`, String.raw`2\sqrt{x}`, true],
  [String.raw`\sqrt{x^2}`, 'x', false],
  ['2^x*2', '2^x+2^x', true],
  ['1/0', '1/0+0', false],
  ['x/(x-x)', '1', false],
  ['(1+', '1', false],
  ['', '0', false],
  ['None', '5', false],
  ['5', String.raw`\boxed{5}`, true],
  [String.raw`\begin{pmatrix}1\\2\end{pmatrix}`, String.raw`\begin{pmatrix} 1 \\ 2 \end{pmatrix}`, true],
  [String.raw`\mathbf{x}`, 'x', false],
  [String.raw`\begin{pmatrix}1&2\end{pmatrix}`, String.raw`\begin{bmatrix}3\end{bmatrix}`, false],
  [String.raw`\frac`, '1', false],
  [String.raw`\sqrt`, '1', false],
  [String.raw`3\text{ apples}\text{ }`, '3', false],
  ['--5', '5', false],
  ['2*3', '6', false],
  ['1e3', '1000', true],
  ['x_1+x_2', 'x_2+x_1', true],
  [String.raw`\alpha+\beta`, String.raw`\beta+\alpha`, true],
  [String.raw`2\pm1`, '3', false],
  [String.raw`7+3\sqrt5`, String.raw`3\sqrt{5}+7`, true],
  ['x^{-1}', '1/x', true],
  [String.raw`-\frac{1}{2}`, String.raw`\frac{-1}{2}`, true],
  [String.raw`\frac{1}{-2}`, '-0.5', true],
  ['(2x)^2', '4x^2', true],
  ['-x^2', '(-x)^2', false],
  ['√2', 'sqrt(2)', false],
  ['2**3', '8', false],
  ['9^(1/2)', '3', false],
];

test.each(JUDGED)('the comparison of %s with %s is %s, as in MathRuler', (given, gold, verdict) => {
  expect(equivalentAnswers(given, gold)).toBe(verdict);
});

test.each([
  [String.raw`so \boxed{5}`, '5'],
  [String.raw`\boxed{1} \boxed{ \frac{1}{2} }`, String.raw`\frac{1}{2}`],
  [String.raw`\boxed{\frac{1}{2}`, 'None'],
  ['none', 'None'],
  [String.raw`\boxed{}`, ''],
  [String.raw`\boxed{a}b}`, 'a'],
  [String.raw`\boxed 5`, 'None'],
])('the box of %s contains %s', (text, content) => {
  expect(boxedContent(text)).toBe(content);
});

/** Expressions of one variable, whole numbers and roots, with the value at a place where x is. */
const { expression } = fc.letrec<{ expression: { readonly text: string; readonly at: (x: number) => number } }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4 },
    fc.constant({ text: 'x', at: (x: number) => x }),
    fc.integer({ min: 0, max: 30 }).map((n) => ({ text: String(n), at: () => n })),
    fc.integer({ min: 0, max: 30 }).map((n) => ({ text: `sqrt(${n})`, at: () => Math.sqrt(n) })),
    fc.tuple(tie('expression'), fc.constantFrom('+', '-', '*'), tie('expression')).map(([a, sign, b]) => ({
      text: `(${a.text})${sign}(${b.text})`,
      at: (x: number) => (sign === '+' ? a.at(x) + b.at(x) : sign === '-' ? a.at(x) - b.at(x) : a.at(x) * b.at(x)),
    })),
    tie('expression').map((a) => ({ text: `(${a.text})^2`, at: (x: number) => a.at(x) ** 2 })),
  ),
}));

describe('the exact computation', () => {
  test('the computation equates every expression with a rewritten form of itself, and with no other value', () => {
    fc.assert(
      fc.property(expression, expression, (a, b) => {
        fc.pre(readExpression(a.text) !== null && readExpression(b.text) !== null); // too large ones are given up on
        // With x in it, for a whole number must be given as one.
        expect(equivalentAnswers(`x+7+2*(${a.text})/2-7`, `(${a.text})+x`)).toBe(true);
        expect(equivalentAnswers(`(${a.text})*(${b.text})`, `(${b.text})*(${a.text})`)).toBe(true);
        const [x, y] = [a.at(1.37), b.at(1.37)];
        if (Math.abs(x - y) > 1e-6 * (1 + Math.abs(x) + Math.abs(y)))
          expect(equivalentAnswers(`${a.text}+x`, `${b.text}+x`)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('the computation of any boxed text ends soon with an answer', () => {
    const piece = fc.constantFrom(
      ...String.raw`\frac \sqrt { } ( ) [ ] ^ ^9 9 x y pi ! / * - + , . = \text{ \begin{pmatrix} \end & ~ e9`.split(' '),
      '\\',
      ' ',
    );
    const answer = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(piece, { maxLength: 400 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(answer, answer, (given, gold) => {
        expect(typeof equivalentAnswers(given, gold)).toBe('boolean');
      }),
      { numRuns: 500 },
    );
    for (const huge of [
      '('.repeat(50_000),
      '{'.repeat(50_000),
      `${'9^9*'.repeat(200)}9`,
      '((x+y+1)^9)^9',
      '9'.repeat(3_000),
      '(((9^9)^9)^9)^9',
      '1e999',
      '100!!',
    ])
      for (const gold of ['1', `1${huge}`]) expect(equivalentAnswers(huge, gold)).toBe(false);
  });
});
