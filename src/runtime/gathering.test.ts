import { expect, test } from '@jest/globals';
import { gathering } from './gathering.ts';

test('what comes while a call is under way goes together in the next one, in the order in which it came', async () => {
  const calls: (readonly number[])[] = [];
  const releases: (() => void)[] = [];
  const add = gathering(async (items: readonly number[]) => {
    calls.push(items);
    await new Promise<void>((resolve) => releases.push(resolve));
    return items.length;
  });
  const results = [1, 2, 3].map((item) => add(item));
  expect(calls).toEqual([[1]]);
  releases.shift()?.();
  expect(await results[0]).toBe(1);
  const late = add(4); // the second call is under way
  expect(calls).toEqual([[1], [2, 3]]);
  releases.shift()?.();
  expect(await Promise.all(results.slice(1))).toEqual([2, 2]);
  releases.shift()?.();
  expect(await late).toBe(1);
  expect(calls).toEqual([[1], [2, 3], [4]]);
});

test('a throw rejects the items of its call alone, and later items are worked on', async () => {
  let calls = 0;
  const add = gathering(async (items: readonly string[]) => {
    calls++;
    if (items.includes('bad')) throw new Error('bad');
    return items.join();
  });
  const results = await Promise.allSettled(['first', 'bad', 'other'].map((item) => add(item)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await add('after')).toBe('after');
  expect(calls).toBe(3);
});
