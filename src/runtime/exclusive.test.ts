import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createExclusive } from './exclusive.ts';

test('tasks with a common key never overlap, whatever fails, and all of them end', async () => {
  const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(keys, fc.boolean()), { maxLength: 12 }), fc.scheduler(), async (jobs, scheduler) => {
      const exclusive = createExclusive();
      const inside = new Map<string, number>();
      const results = jobs.map(([held, fails], i) =>
        exclusive
          .run(held, async () => {
            for (const key of held) {
              expect(inside.get(key)).toBeUndefined();
              inside.set(key, i);
            }
            await scheduler.schedule(Promise.resolve());
            for (const key of held) inside.delete(key);
            if (fails) throw new Error('failed');
            return i;
          })
          .catch((error: Error) => error.message),
      );
      const all = Promise.all(results);
      await scheduler.waitFor(all);
      expect(await all).toEqual(jobs.map(([, fails], i) => (fails ? 'failed' : i)));
    }),
  );
});

test('tasks without a common key run concurrently', async () => {
  const exclusive = createExclusive();
  let release: () => void = () => undefined;
  const blocked = exclusive.run(['a'], () => new Promise<void>((resolve) => (release = resolve)));
  await exclusive.run(['b'], async () => undefined);
  release();
  await blocked;
});
