import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findGrowth, repeated } from './testing/find-growth.ts';
import { PIECES, TEXT_READERS } from './testing/text-readers.ts';

const LONG = { longest: 256 * 1_024, quickMs: 100 };
const CASES = 60; // for each reader; the seed is that of the day, and a failure names it

const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 3 }) },
);
const few = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));

describe('reading time of drawn texts', () => {
  test.each(Object.entries(TEXT_READERS))(
    'no text makes the time of %s grow faster than its length',
    (_name, read) => {
      fc.assert(
        fc.property(few, fc.option(few), fc.option(few), (piece, beginning, end) => {
          expect(findGrowth(read, repeated(piece, beginning ?? '', end ?? '\u0001'), LONG)).toBeUndefined();
        }),
        { numRuns: CASES, endOnFailure: true },
      );
    },
    600_000,
  );
});
