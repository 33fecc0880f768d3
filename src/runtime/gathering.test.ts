import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { gathering } from './gathering.ts';

/** Work whose calls are seen, and end when the test says so. */
function observed() {
  const calls: (readonly number[])[] = [];
  const releases: (() => void)[] = [];
  const work = async (items: readonly number[]) => {
    calls.push(items);
    await new Promise<void>((resolve) => releases.push(resolve));
    return items.length;
  };
  return { calls, work, end: () => releases.shift()?.() };
}

/** Until what is due has begun. */
async function turn(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

test('what comes in one turn goes together, and what comes while a call is under way goes together in the next one', async () => {
  const { calls, work, end } = observed();
  const add = gathering(work);
  const first = [1, 2].map((item) => add(item));
  await turn();
  expect(calls).toEqual([[1, 2]]);
  const results = [3, 4, 5].map((item) => add(item));
  await turn();
  expect(calls).toEqual([[1, 2]]);
  end();
  expect(await Promise.all(first)).toEqual([2, 2]);
  await turn();
  expect(calls).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  end();
  expect(await Promise.all(results)).toEqual([3, 3, 3]);
});

test('a call takes no more than its weight, and one that is full begins next to another', async () => {
  const { calls, work, end } = observed();
  const add = gathering(work, { weigh: (item) => item, full: 10 });
  const results = [6, 4, 30, 5, 4, 2].map((item) => add(item));
  await turn();
  expect(calls).toEqual([[6, 4], [30]]);
  end();
  await turn();
  expect(calls).toEqual([[6, 4], [30], [5, 4]]);
  const late = add(1); // with the 2 that waits no full call, but a call is under way
  end();
  await turn();
  expect(calls).toHaveLength(3);
  end();
  await turn();
  expect(calls.at(-1)).toEqual([2, 1]);
  end();
  expect(await Promise.all([...results, late])).toEqual([2, 2, 1, 2, 2, 2, 2]);
});

test('a throw rejects the items of its call alone, and later items are worked on', async () => {
  let calls = 0;
  const add = gathering(async (items: readonly string[]) => {
    calls++;
    if (items.includes('bad')) throw new Error('bad');
    return items.join();
  });
  const results = [add('first')];
  await turn();
  results.push(add('bad'), add('other'));
  expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await add('after')).toBe('after');
  expect(calls).toBe(3);
});
