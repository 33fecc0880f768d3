import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FACTOR_RANGE, type FactorReading, readFactor } from './factor-reward.ts';

type Row = readonly [response: string, text: string | null, parsed: number | null, factor: number, fault: FactorReading['fault']];
const tagged = (text: string): string => `so <compression>${text}</compression>.`;

const ROWS: readonly Row[] = [
  [tagged('1.5'), '1.5', 1.5, 1.5, null],
  [tagged(' \u001c1.5\u0085\n'), '1.5', 1.5, 1.5, null],
  [tagged('1'), '1', 1, 1, null],
  [tagged('5.0'), '5.0', 5, 5, null],
  [tagged('1e0'), '1e0', 1, 1, null],
  [tagged('1_0'), '1_0', 10, 5, 'above-range'],
  [tagged('７'), '７', 7, 5, 'above-range'],
  [tagged('٢.٥'), '٢.٥', 2.5, 2.5, null],
  [tagged('1e9'), '1e9', 1e9, 5, 'above-range'],
  [tagged('0'), '0', 0, 1, 'below-range'],
  [tagged('-3'), '-3', -3, 1, 'below-range'],
  [tagged('0.999'), '0.999', 0.999, 1, 'below-range'],
  [tagged('nan'), 'nan', null, 1, 'not-finite'],
  [tagged('inf'), 'inf', null, 1, 'not-finite'],
  [tagged('-Infinity'), '-Infinity', null, 1, 'not-finite'],
  [tagged('1e400'), '1e400', null, 1, 'not-finite'],
  [tagged('1,5'), '1,5', null, 1, 'no-number'],
  [tagged('1.5x'), '1.5x', null, 1, 'no-number'],
  [tagged('0x2'), '0x2', null, 1, 'no-number'],
  [tagged(''), '', null, 1, 'no-number'],
  ['no tag', null, null, 1, 'no-tag'],
  ['<compression>2', null, null, 1, 'no-tag'],
  ['2</compression>', null, null, 1, 'no-tag'],
  ['<Compression>2</COMPRESSION>', '2', 2, 2, null],
  ['</compression><compression>2', '', null, 1, 'no-number'],
  ['<compression>2</compression><compression>3</compression>', '2', 2, 2, null],
  ['<compression>2<compression>3</compression>', '2<compression>3', null, 1, 'no-number'],
  ['İ<compression>2</compression>', '<', null, 1, 'no-number'], // as published: İ is two characters in lower case
];

test.each(ROWS)('%j contains %j, the number %d, and is read as %d (%s)', (response, text, parsed, factor, fault) => {
  expect(readFactor(response)).toEqual({ text, parsed, factor, fault });
});

test('every factor is clamped to the range, and a number in the range is unchanged', () => {
  fc.assert(
    fc.property(fc.double(), (number) => {
      const { factor } = readFactor(tagged(String(number)));
      const { least, most } = FACTOR_RANGE;
      expect(factor).toBe(Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : 1);
    }),
  );
});
