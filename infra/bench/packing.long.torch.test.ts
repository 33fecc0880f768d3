import { describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../src/testing/python.ts';
import { describeOutcome } from './outcome.ts';
import { benchPacking } from './packing.ts';

const found = await pythonForTests();

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `packed rows by torch ${found.torch}` : `packed rows: skipped, ${found.reason}`,
  () => {
    test('the bench prints both rates of one run and their ratio, at losses that do not differ', async () => {
      const outcome = await benchPacking(found.kind === 'found' ? found.python : '', { rows: 16, longest: 128 });
      expect(describeOutcome(outcome)).toMatch(
        /packed rows: [\d,]+ tokens\/s \| padded rows: [\d,]+ tokens\/s \| ratio [\d.]+ \|/,
      );
      expect(outcome.conditions['difference of the losses']).toBeLessThanOrEqual(1e-5);
    }, 300_000);
  },
);
