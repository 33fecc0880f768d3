import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { Slots, shareEpisodes } from './shared-episodes.ts';

const textcraft = await openTextCraft();
const task = { alias: '5', seed: 0 };
const signal = new AbortController().signal;
const ACTIONS = ['inventory', 'dance', 'get 1 stick', 'get 2 oak log', 'craft 4 oak planks using 1 oak log'];

/** Which requests an environment has besides reset and step. */
type Has = 'copies' | 'replay' | 'neither';

/** Counts what is asked of an environment, and the episodes that are open. */
function counted(has: Has) {
  const counts = { steps: 0, replays: 0, open: 0, most: 0 };
  const wrap = (inner: Environment): Environment => {
    counts.open++;
    counts.most = Math.max(counts.most, counts.open);
    const step = async (action: string) => {
      counts.steps++;
      return inner.step(action);
    };
    return {
      reset: (start) => inner.reset(start),
      step,
      parse: (response) => inner.parse(response),
      ...(has === 'copies' && inner.clone ? { clone: async () => wrap((await inner.clone?.()) ?? inner) } : {}),
      ...(has === 'replay'
        ? {
            replay: async (start, actions) => {
              counts.replays++;
              const opening = await inner.reset(start);
              const steps = [];
              for (const action of actions) {
                steps.push(await step(action));
                if (steps.at(-1)?.terminated) break;
              }
              return { opening, steps };
            },
          }
        : {}),
      close: async () => {
        counts.open--;
        await inner.close();
      },
    };
  };
  const kind: EnvironmentKind = { ...textcraft, create: async () => wrap(await textcraft.create()) };
  return { kind, counts };
}

async function fromTheStart(actions: readonly string[]) {
  const environment = await textcraft.create();
  await environment.reset(task);
  const seen = [];
  for (const action of actions) seen.push(await environment.step(action));
  await environment.close();
  return seen;
}

async function shared(
  has: Has,
  planned: readonly (readonly string[])[],
  { taken = planned, atOnce = 1 }: { readonly taken?: readonly (readonly string[])[]; readonly atOnce?: number } = {},
) {
  const { kind, counts } = counted(has);
  const slots = new Slots(atOnce);
  const endTurn = await slots.take();
  const begun = { environment: await kind.create(), endTurn };
  const { observation: firstObservation } = await begun.environment.reset(task);
  const episodes = shareEpisodes({ kind, begun, begin: { task, firstObservation }, ways: planned, slots });
  const walked = async (actions: readonly string[]): Promise<StepResult[]> => {
    const walk = episodes.walk(actions);
    const answers = [];
    for (const _ of actions) answers.push(await walk.step(signal));
    await walk.close();
    return answers;
  };
  const seen: StepResult[][] = [];
  if (atOnce > 1) seen.push(...(await Promise.all(taken.map(walked))));
  else for (const actions of taken) seen.push(await walked(actions));
  await episodes.close();
  for (let i = 0; i < atOnce; i++) await slots.take(); // whoever took a turn has ended it
  return { seen, counts };
}

const way = fc.array(fc.constantFrom(...ACTIONS), { maxLength: 6 });
const prefixes = (ways: readonly (readonly string[])[]) =>
  new Set(ways.flatMap((actions) => actions.map((_, i) => JSON.stringify(actions.slice(0, i + 1))))).size;

describe('episodes that share their beginnings', () => {
  test('answer every action as an episode of its own does, take each once where episodes can be copied, and end closed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(way, { maxLength: 12 }), async (ways) => {
        const { seen, counts } = await shared('copies', ways);
        expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
        expect(counts.open).toBe(0);
        // A way that ends inside another one leaves no copy there: it is walked again for the longer one.
        const once = ways.every((a) =>
          ways.every((b) => a === b || a.length >= b.length || a.some((action, i) => action !== b[i])),
        );
        if (once) expect(counts.steps).toBe(prefixes(ways));
      }),
      { numRuns: 8 },
    );
  });

  test('ways that were not planned, several at a time, and environments that cannot be copied are answered alike', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(way, { maxLength: 8 }),
        fc.array(way, { maxLength: 8 }),
        fc.constantFrom<Has>('copies', 'replay', 'neither'),
        fc.integer({ min: 1, max: 4 }),
        async (planned, taken, has, atOnce) => {
          const { seen, counts } = await shared(has, planned, { taken, atOnce });
          expect(seen).toEqual(await Promise.all(taken.map(fromTheStart)));
          expect(counts.open).toBe(0);
        },
      ),
      { numRuns: 15 },
    );
  });

  test('an action that was taken on the same way before is not taken again, where episodes cannot be copied too', async () => {
    const way = ['get 1 stick', 'inventory', 'dance'];
    const ways = [way, way, way.slice(0, 2)];
    for (const [has, atOnce] of [
      ['copies', 1],
      ['neither', 1],
      ['copies', 3],
      ['neither', 3],
    ] as const) {
      const { seen, counts } = await shared(has, ways, { atOnce });
      expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
      expect(counts).toMatchObject({ steps: way.length, open: 0, most: 1 });
    }
  });

  test('a way that parts from another one is played in one request, where the environment has such a request', async () => {
    const ways = ['dance', 'get 1 stick', 'inventory'].map((last) => ['inventory', 'inventory', last]);
    const { seen, counts } = await shared('replay', ways, { atOnce: 2 });
    expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
    expect(counts).toMatchObject({ replays: 2, steps: 9, open: 0 });
  });

  test('walks at the same time take each action once where episodes can be copied', async () => {
    const stem = ['get 1 stick', 'inventory'];
    const ways = ACTIONS.flatMap((one) => ACTIONS.map((two) => [...stem, one, two]));
    const { seen, counts } = await shared('copies', ways, { atOnce: 8 });
    expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
    expect(counts.open).toBe(0);
    expect(counts.steps).toBe(prefixes(ways));
  });

  test('no more episodes that cannot be copied are open at a time than there are turns', async () => {
    const ways = ACTIONS.map((first) => [first, 'inventory', 'dance']);
    const { counts } = await shared('neither', ways, { atOnce: 2 });
    expect(counts).toMatchObject({ most: 2, open: 0, steps: 15 });
  });

  test('more open places than copies are kept are reached again from the start', async () => {
    const stem = Array.from({ length: 40 }, () => 'inventory');
    const ways = stem.flatMap((_, i) => [[...stem.slice(0, i), 'dance']]);
    const { seen, counts } = await shared('copies', [stem, ...ways]);
    expect(seen.slice(1)).toEqual(await Promise.all(ways.map(fromTheStart)));
    expect(counts).toMatchObject({ open: 0 });
    expect(counts.steps).toBeLessThan(ways.reduce((sum, actions) => sum + actions.length, stem.length) / 2);
  });

  test('an abort ends those that wait for a turn before they begin anything', async () => {
    const { kind, counts } = counted('neither');
    const slots = new Slots(1);
    const begun = { environment: await kind.create(), endTurn: await slots.take() };
    const { observation: firstObservation } = await begun.environment.reset(task);
    const ways = [['inventory'], ['dance'], ['get 1 stick']];
    const episodes = shareEpisodes({ kind, begun, begin: { task, firstObservation }, ways, slots });
    const stop = new AbortController();
    const walks = ways.map((actions) => episodes.walk(actions));
    const first = walks[0]?.step(stop.signal);
    const waiting = walks.slice(1).map((walk) => walk.step(stop.signal));
    const refused = Promise.allSettled(waiting);
    await first;
    stop.abort(new Error('stopped'));
    for (const walk of walks) await walk.close();
    expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await episodes.close();
    expect(counts).toMatchObject({ steps: 1, open: 0 });
  });
});
