import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { shareEpisodes } from './shared-episodes.ts';

const textcraft = await openTextCraft();
const task = { alias: '5', seed: 0 };
const signal = new AbortController().signal;
const ACTIONS = ['inventory', 'dance', 'get 1 stick', 'get 2 oak log', 'craft 4 oak planks using 1 oak log'];

/** Counts what is asked of an environment, and the episodes that are open. */
function counted(canCopy: boolean) {
  const counts = { steps: 0, open: 0 };
  const wrap = (inner: Environment): Environment => {
    counts.open++;
    return {
      reset: (start) => inner.reset(start),
      step: (action) => {
        counts.steps++;
        return inner.step(action);
      },
      parse: (response) => inner.parse(response),
      ...(canCopy && inner.clone ? { clone: async () => wrap((await inner.clone?.()) ?? inner) } : {}),
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

async function shared(canCopy: boolean, planned: readonly (readonly string[])[], taken = planned) {
  const { kind, counts } = counted(canCopy);
  const begun = await kind.create();
  const { observation: firstObservation } = await begun.reset(task);
  const episodes = shareEpisodes(kind, begun, { task, firstObservation }, planned);
  const seen = [];
  for (const actions of taken) {
    const answers = [];
    let place = episodes.opening;
    for (const action of actions) {
      const { result, ...next } = await episodes.step(place, action, signal);
      answers.push(result);
      place = next.place;
    }
    seen.push(answers);
  }
  await episodes.close();
  return { seen, counts };
}

const way = fc.array(fc.constantFrom(...ACTIONS), { maxLength: 6 });
const prefixes = (ways: readonly (readonly string[])[]) =>
  new Set(ways.flatMap((actions) => actions.map((_, i) => JSON.stringify(actions.slice(0, i + 1))))).size;

describe('episodes that share their beginnings', () => {
  test('answer every action as an episode of its own does, take each once where episodes can be copied, and end closed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(way, { maxLength: 12 }), async (ways) => {
        const { seen, counts } = await shared(true, ways);
        expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
        expect(counts.open).toBe(0);
        // A way that ends inside another one leaves no copy there: it is walked again for the longer one.
        const once = ways.every((a) =>
          ways.every((b) => a === b || a.length >= b.length || a.some((action, i) => action !== b[i])),
        );
        if (once) expect(counts.steps).toBe(prefixes(ways));
      }),
      { numRuns: 60 },
    );
  });

  test('ways that were not planned, and environments that cannot be copied, are answered alike', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(way, { maxLength: 8 }),
        fc.array(way, { maxLength: 8 }),
        fc.boolean(),
        async (planned, ways, copy) => {
          const { seen, counts } = await shared(copy, planned, ways);
          expect(seen).toEqual(await Promise.all(ways.map(fromTheStart)));
          expect(counts.open).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('an action that was taken on the same way before is not taken again, where episodes cannot be copied too', async () => {
    const way = ['get 1 stick', 'inventory', 'dance'];
    for (const canCopy of [true, false]) {
      const { seen, counts } = await shared(canCopy, [way, way, way.slice(0, 2)]);
      expect(seen).toEqual(await Promise.all([way, way, way.slice(0, 2)].map(fromTheStart)));
      expect(counts).toEqual({ steps: way.length, open: 0 });
    }
  });

  test('more open places than copies are kept are reached again from the start', async () => {
    const stem = Array.from({ length: 40 }, () => 'inventory');
    const ways = stem.flatMap((_, i) => [[...stem.slice(0, i), 'dance']]);
    const { seen, counts } = await shared(true, [stem, ...ways]);
    expect(seen.slice(1)).toEqual(await Promise.all(ways.map(fromTheStart)));
    expect(counts).toMatchObject({ open: 0 });
    expect(counts.steps).toBeLessThan(ways.reduce((sum, actions) => sum + actions.length, stem.length) / 2);
  });
});
