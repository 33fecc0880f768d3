import { expect, test } from '@jest/globals';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { ownWork, tryOwnWork } from './own-work.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('work has one owner: another one is told so or waits for it, and other work has owners of its own', async () => {
  const { db } = database;
  const order: string[] = [];
  let second: Promise<unknown> = Promise.resolve();
  await ownWork(db, 'work', async () => {
    expect(await tryOwnWork(db, 'work', async () => 'both')).toEqual({ kind: 'busy' });
    expect(await tryOwnWork(db, 'other work', async () => 'other')).toEqual({ kind: 'done', result: 'other' });
    second = ownWork(db, 'work', async () => order.push('second'));
    order.push('first');
  });
  await second;
  expect(order).toEqual(['first', 'second']);
});

test('work that fails has no owner any more', async () => {
  const { db } = database;
  const failing = tryOwnWork(db, 'work', () => Promise.reject(new Error('it failed')));
  await expect(failing).rejects.toThrow('it failed');
  expect(await tryOwnWork(db, 'work', async () => 'again')).toEqual({ kind: 'done', result: 'again' });
});
