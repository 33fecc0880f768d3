import { expect, test } from '@jest/globals';
import { describeFailures, failureTally } from './environment-fault.ts';

function tallyOf(...reasons: readonly string[]) {
  const tally = failureTally();
  for (const reason of reasons) tally.add(reason);
  return tally;
}

test('failures are counted by reason, the most frequent first and equal ones in a fixed order', () => {
  const tally = tallyOf('b', 'c', 'a', 'c');
  expect([tally.failed(), tally.reasons()]).toEqual([
    4,
    [
      { reason: 'c', count: 2 },
      { reason: 'a', count: 1 },
      { reason: 'b', count: 1 },
    ],
  ]);
  expect(tallyOf('a', 'b', 'c', 'c').reasons()).toEqual(tally.reasons());
});

test('the text shows the share of failures, and the reason alone where there is one', () => {
  expect(describeFailures(tallyOf(), 8, 'rollouts failed')).toBe('');
  expect(describeFailures(tallyOf('no model', 'no model'), 8, 'rollouts failed')).toBe('2 of 8 rollouts failed: no model');
  expect(describeFailures(tallyOf('x', '', 'x'), 3, 'searches failed')).toBe(
    '3 of 3 searches failed: 2 × x; 1 × no reason given',
  );
});

test('the text fits the message of a run, however many and long the reasons are', () => {
  const tally = tallyOf(...Array.from({ length: 40 }, (_, i) => `${i} ${'🙂'.repeat(3_000)}`));
  const text = describeFailures(tally, 40, 'rollouts failed');
  expect(text.length).toBeLessThan(10_000);
  expect(text).toMatch(/; 35 × other reasons$/);
  expect(text.isWellFormed()).toBe(true);
});
