import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { allOrStop } from './all-or-stop.ts';

const HOUR_MS = 3_600_000;

test.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
  ['a timer', (signal) => delay(HOUR_MS, undefined, { signal })],
  ['the signal itself', (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))],
])('a stop that ends the wait of a task by %s is no failure', async (_, wait) => {
  const stopping = new AbortController();
  const waiting = allOrStop(stopping.signal, [async (signal) => void (await wait(signal)), async () => stopping.abort()]);
  await expect(waiting).resolves.toBeUndefined();
});

test('the failure of a task ends the waits of the others, and is what is thrown', async () => {
  const waiting = allOrStop(new AbortController().signal, [
    (signal) => delay(HOUR_MS, undefined, { signal }),
    () => Promise.reject(new Error('the disk is full')),
  ]);
  await expect(waiting).rejects.toThrow('the disk is full');
});

test('a failure that only looks like a stop is thrown', async () => {
  const timedOut = AbortSignal.abort();
  const waiting = allOrStop(new AbortController().signal, [() => delay(HOUR_MS, undefined, { signal: timedOut })]);
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});
