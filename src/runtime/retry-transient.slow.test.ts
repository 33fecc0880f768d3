import { expect, test } from '@jest/globals';
import { retryTransient } from './retry-transient.ts';

const passes = (error: unknown): boolean => error instanceof RangeError;
const never = new AbortController().signal;

test('work is repeated until it succeeds, and every fault is reported', async () => {
  const faults: unknown[] = [];
  let tries = 0;
  const work = async () => {
    if (++tries < 3) throw new RangeError(`away ${tries}`);
    return 'done';
  };
  expect(await retryTransient(work, { passes, signal: never, onFault: (fault) => faults.push(String(fault)) })).toBe('done');
  expect(faults).toEqual(['RangeError: away 1', 'RangeError: away 2']);
});

test('a permanent fault is thrown at once, as is any fault after an abort', async () => {
  const onFault = (): never => {
    throw new Error('nothing is waited out');
  };
  const bug = new TypeError('a bug');
  await expect(retryTransient(() => Promise.reject(bug), { passes, onFault, signal: never })).rejects.toBe(bug);
  const fault = new RangeError('away');
  await expect(retryTransient(() => Promise.reject(fault), { passes, onFault, signal: AbortSignal.abort() })).rejects.toBe(fault);
});

test('consecutive faults are waited out up to the limit, and a longer success resets the limit', async () => {
  let clock = 0;
  let tries = 0;
  const lasting = [10, 10, 61_000, 10, 10]; // ms of work before each fault
  const work = () => {
    clock += lasting[tries++] ?? 100;
    return Promise.reject(new RangeError(`away ${tries}`));
  };
  const waited = retryTransient(work, { passes, onFault: () => undefined, signal: never, limitMs: 61_015, now: () => clock });
  await expect(waited).rejects.toThrow('away 5');
}, 20_000);

test('a fault without a limit is waited out behind the limit of the others', async () => {
  let clock = 0;
  let tries = 0;
  const work = async () => {
    clock += 50_000;
    if (++tries === 4) return 'done';
    throw new RangeError('away');
  };
  const options = { passes, onFault: () => undefined, signal: never, limitMs: 60_000, now: () => clock };
  expect(await retryTransient(work, { ...options, unlimited: passes })).toBe('done');
  tries = 0;
  await expect(retryTransient(work, options)).rejects.toThrow('away');
}, 20_000);
