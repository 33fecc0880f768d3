import { describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../src/testing/python.ts';
import { describeOutcome } from './outcome.ts';
import { benchRecordedTraining } from './recorded-training.ts';

const found = await pythonForTests();

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found'
    ? `training through the record by torch ${found.torch}`
    : `training through the record: skipped, ${found.reason}`,
  () => {
    test('the bench prints the times of one run with and without the record, for as many rollouts and steps', async () => {
      const outcome = await benchRecordedTraining(found.kind === 'found' ? found.python : '', 1);
      expect(describeOutcome(outcome)).toMatch(
        /espalier train: [\d,.]+ ms \| the same loop without a record, members in turn: [\d,.]+ ms \| ratio [\d.]+ \| goal/,
      );
    }, 300_000);
  },
);
