import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePythonFloat } from './python-strip.ts';

// Every pair was seen with CPython 3.11: the number, or null for ValueError.
const READ: readonly (readonly [string, number | null])[] = [
  ['1.5', 1.5],
  ['  2 ', 2.0],
  ['1e0', 1.0],
  ['1E+1', 10.0],
  ['.5', 0.5],
  ['5.', 5.0],
  ['-.5e-1', -0.05],
  ['+3', 3.0],
  ['1_0', 10.0],
  ['1_000.2_5', 1000.25],
  ['1e1_0', 10000000000.0],
  ['1__0', null],
  ['_1', null],
  ['1_', null],
  ['1_.5', null],
  ['1._5', null],
  ['1_e5', null],
  ['1e_5', null],
  ['inf', Infinity],
  ['-Infinity', -Infinity],
  ['+INF', Infinity],
  ['nan', Number.NaN],
  ['-NaN', Number.NaN],
  ['infin', null],
  ['i_nf', null],
  ['', null],
  ['.', null],
  ['e5', null],
  ['1,5', null],
  ['0x10', null],
  ['1e', null],
  ['1 0', null],
  ['1.5f', null],
  ['--1', null],
  ['\u0661.\u0665', 1.5],
  ['\uff11\uff12', 12.0],
  ['\ud835\udfd8\ud835\udfff', 9.0],
  ['\u0967_\u0968', 12.0],
  ['\u00b2', null],
  ['\u2460', null],
  ['\u4e00', null],
  ['\u00a01.5\u2003', 1.5],
  ['\u001c1\u0085', null],
  ['\ufeff1', null],
  ['1\u0000', null],
  ['1\u200b', null],
  ['1e400', Infinity],
  ['-1e400', -Infinity],
  ['1e-400', 0.0],
  ['9007199254740993', 9007199254740992],
  ['0.1e1', 1.0],
  ['00012', 12.0],
  ['\u22121', null],
  ['1\u066b5', null],
];

test.each(READ)('float(%j) is read as in Python', (text, number) => {
  expect(parsePythonFloat(text)).toBe(number);
});

test('numbers written by JavaScript are read as the same numbers', () => {
  fc.assert(
    fc.property(fc.double(), (number) => {
      // String writes -0 as "0".
      expect(parsePythonFloat(String(number))).toBe(number === 0 ? 0 : number);
    }),
  );
});

test('a text of a million characters is read in one pass', () => {
  expect(parsePythonFloat(`${'1'.repeat(1_000_000)}x`)).toBeNull();
  expect(parsePythonFloat(`1${' '.repeat(1_000_000)}1`)).toBeNull();
  expect(parsePythonFloat(`${'1_'.repeat(500_000)}1`)).toBe(Number.POSITIVE_INFINITY);
});

test('digits form runs of ten in this version of Unicode, so that a digit is its place in its run', () => {
  const broken: number[] = [];
  let run = 0;
  for (let code = 0; code <= 0x10ffff; code++) {
    if (/\p{Nd}/u.test(String.fromCodePoint(code))) run++;
    else {
      if (run % 10 !== 0) broken.push(code);
      run = 0;
    }
  }
  expect(broken).toEqual([]);
});
