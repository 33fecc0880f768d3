import { expect, test } from '@jest/globals';
import { readSeldom } from './read-seldom.ts';

test('readers share the call that is under way and then its result for a while; a fault is not kept', async () => {
  let calls = 0;
  const read = readSeldom(60_000, async () => {
    calls++;
    if (calls === 1) throw new Error('away');
    return calls;
  });
  const faulty = [read(), read()];
  for (const each of faulty) await expect(each).rejects.toThrow('away');
  expect(calls).toBe(1);
  expect(await Promise.all([read(), read()])).toEqual([2, 2]);
  expect([await read(), calls]).toEqual([2, 2]);
});

test('with no time to keep a result for, only the call that is under way is shared', async () => {
  let calls = 0;
  const read = readSeldom(0, async () => ++calls);
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  expect(await read()).toBe(2);
});
