import { describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../src/testing/python.ts';
import { benchLeaseTensors } from './lease-tensors.ts';
import { describeOutcome } from './outcome.ts';
import { openStage } from './stage.ts';

const found = await pythonForTests();

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `leased bodies and torch ${found.torch}` : `leased bodies as tensors: skipped, ${found.reason}`,
  () => {
    test('the bench prints what tensors add to a transfer, and no column is copied', async () => {
      const { DATABASE_URL } = process.env;
      const stage = openStage('quick', { DATABASE_URL });
      try {
        const outcome = await benchLeaseTensors(stage, found.kind === 'found' ? found.python : '');
        expect(describeOutcome(outcome)).toMatch(
          /leased body to torch tensors: [\d.]+ ms \| the transfer of the body: [\d.]+ ms \| ratio [\d.]+ \| goal ratio <= 0\.1:/,
        );
      } finally {
        await stage.close();
      }
    }, 300_000);
  },
);
