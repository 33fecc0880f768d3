import { expect, test } from '@jest/globals';
import { forEachOf } from './limit.ts';

test('after a failure nothing else begins, and it is thrown when what was under way has ended', async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const all = forEachOf([0, 1, 2, 3], 2, async (item) => {
    begun.push(item);
    if (item === 0) throw new Error('the store is away');
    await released;
    ended.push(item);
  });
  setImmediate(release);
  await expect(all).rejects.toThrow('the store is away');
  expect([begun, ended]).toEqual([[0, 1], [1]]);
});
