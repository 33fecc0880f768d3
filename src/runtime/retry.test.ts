import { describe, expect, test } from '@jest/globals';
import { doubling, type Failure, rest, retry } from './retry.ts';

describe('retry', () => {
  test('work is tried again after its pauses, and is passed the number of its try', async () => {
    const [slept, failures] = [[] as number[], [] as Failure[]];
    let clock = 0;
    const result = await retry(
      async (tries) => {
        clock += 10;
        if (tries < 4) throw new Error(`no ${tries}`);
        return tries;
      },
      {
        now: () => clock,
        sleep: async (ms) => {
          slept.push(ms);
          clock += ms;
        },
        pauseMs: (tries) => (tries === 2 ? 0 : 100),
        again: (failure) => {
          failures.push(failure);
          return true;
        },
      },
    );
    expect(result).toBe(4);
    expect(slept).toEqual([100, 100]); // a pause of 0 is none
    expect(failures).toEqual([
      { error: new Error('no 1'), tries: 1, elapsedMs: 10, pauseMs: 100 },
      { error: new Error('no 2'), tries: 2, elapsedMs: 120, pauseMs: 0 },
      { error: new Error('no 3'), tries: 3, elapsedMs: 130, pauseMs: 100 },
    ]);
  });

  test('the tries end with the last error, or with what is thrown in its place', async () => {
    const away = (tries: number) => Promise.reject(new Error(`away ${tries}`));
    await expect(retry(away, { again: ({ tries }) => tries < 3, pauseMs: 0 })).rejects.toThrow('away 3');
    const again = ({ error, tries }: Failure) => {
      if (tries === 2) throw new Error('given up', { cause: error });
      return true;
    };
    await expect(retry(away, { again, pauseMs: 0 })).rejects.toMatchObject({
      message: 'given up',
      cause: { message: 'away 2' },
    });
  });

  test('an abort ends a pause with an AbortError, and one that rests with the next try', async () => {
    const aborting = () => {
      const stop = new AbortController();
      let tries = 0;
      return {
        signal: stop.signal,
        work: async () => (++tries === 1 ? Promise.reject(new Error('away')) : 'seen'),
        pauseMs: 60_000,
        again: () => {
          stop.abort();
          return true;
        },
      };
    };
    const { work, ...options } = aborting();
    await expect(retry(work, options)).rejects.toMatchObject({ name: 'AbortError' });
    const resting = aborting();
    expect(await retry(resting.work, { ...resting, sleep: rest })).toBe('seen');
  });
});

test('pauses double up to the longest', () => {
  expect([1, 2, 3, 4, 50].map(doubling(50, 300))).toEqual([50, 100, 200, 300, 300]);
});
