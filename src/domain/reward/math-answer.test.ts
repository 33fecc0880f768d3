import { expect, test } from '@jest/globals';
import { boxedContent, sameAnswer } from './math-answer.ts';

test.each([
  ['5', '5.0'],
  ['05', '5'],
  ['1/2', '0.5'],
  [String.raw`\frac{2}{4}`, '1/2'],
  [String.raw`\frac12`, '.5'],
  [String.raw`\dfrac{-1}{2}`, String.raw`-\frac{1}{2}`],
  [String.raw`\frac{1}{-2}`, '-0.5'],
  ['1.5', String.raw`1\frac12`],
  ['1 1/2', String.raw`\frac32`],
  ['1,000,000', '1000000'],
  ['1{,}000', '1e3'],
  [String.raw`50\%`, '50'],
  ['$3.50', '3.5'],
  [String.raw`5 \text{ cm}`, '5'],
  ['3 feet', '3'],
  [String.raw`90^\circ`, '90'],
  ['x=5', '5'],
  [String.raw`\sqrt3`, String.raw`\sqrt{3}`],
  [String.raw`\frac x2`, String.raw`\frac{x}{2}`],
  [String.raw`\left(1,2\right)`, '(1, 2)'],
  [String.raw`\text{Tuesday}`, 'tuesday'],
  [String.raw`\begin{pmatrix}1\\2\end{pmatrix}`, String.raw`\begin{pmatrix} 1 \\ 2 \end{pmatrix}`],
])('%s has the form or the value of %s', (answer, gold) => {
  expect(sameAnswer(answer, gold)).toBe(true);
});

test.each([
  ['11/2', '1 1/2'],
  ['0.3333333333', '1/3'],
  ['3.14', String.raw`\pi`],
  ['(1,2)', '(2,1)'],
  ['1,2', '12'],
  ['1/0', '2/0'],
  ['', '0'],
  ['None', '5'],
  ['x+x', '2x'],
  [String.raw`\sqrt{4}`, '2'],
])('%s has neither the form nor the value of %s', (answer, gold) => {
  expect(sameAnswer(answer, gold)).toBe(false);
});

test.each([
  [String.raw`so \boxed{5}`, '5'],
  [String.raw`\boxed{1} \boxed{ \frac{1}{2} }`, String.raw`\frac{1}{2}`],
  [String.raw`\boxed{\frac{1}{2}`, null],
  ['none', null],
  [String.raw`\boxed{}`, ''],
  [String.raw`\boxed{a}b}`, 'a'],
  [String.raw`\boxed 5`, null],
])('the box of %s contains %s', (text, content) => {
  expect(boxedContent(text)).toBe(content);
});
