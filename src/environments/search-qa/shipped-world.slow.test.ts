import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRandom, type Random } from '../../domain/random/random.ts';
import type { Environment, EnvironmentKind } from '../environment.ts';
import { openEnvironment } from '../open-environment.ts';

let kind: EnvironmentKind;
let environment: Environment;
beforeAll(async () => {
  kind = await openEnvironment('search-qa');
  environment = await kind.create();
});
afterAll(async () => {
  await environment.close();
  await kind.close();
});

interface Played {
  readonly success: boolean | null;
  readonly depth: number;
  readonly turns: number;
  readonly candidates: readonly (readonly string[])[];
}

async function play(alias: string, choose: (candidates: readonly string[]) => Promise<string>): Promise<Played> {
  const opening = await environment.reset({ alias, seed: 0 });
  const candidates = [opening.admissibleActions ?? []];
  for (let turns = 1; ; turns++) {
    const result = await environment.step(await choose(candidates.at(-1) ?? []));
    if (result.success !== null) return { success: result.success, depth: opening.depth ?? 0, turns, candidates };
    candidates.push(result.admissibleActions ?? []);
  }
}
const byRandom = (random: Random) => async (candidates: readonly string[]) => random.choice(candidates);
const rate = (played: readonly Played[]) => played.filter(({ success }) => success).length / played.length;

describe('the shipped world', () => {
  test('its planner always wins: one search per hop, then the answer, each among the candidates', async () => {
    for (const alias of kind.taskAliases) {
      const played = await play(alias, async (candidates) => {
        const action = (await environment.expertAction?.()) ?? '';
        expect(candidates).toContain(action);
        return action;
      });
      expect(played).toMatchObject({ success: true, turns: played.depth + 1 });
    }
  });

  test('a random policy rarely wins, but often enough to learn from', async () => {
    const random = createRandom('chance');
    const played: Played[] = [];
    for (const alias of kind.taskAliases) for (let i = 0; i < 5; i++) played.push(await play(alias, byRandom(random)));
    const rates = [1, 2, 3].map((hops) => rate(played.filter(({ depth }) => depth === hops)));
    expect(rates[0]).toBeGreaterThan(0.08); // seen: 0.15, 0.03, 0.02
    for (const seen of rates) expect(seen).toBeGreaterThan(0.002);
    expect(rate(played)).toBeLessThan(0.12);
  });

  test('a turn offers at most 40 distinct candidates in alphabetical order, the best one included, the same after the same turns', async () => {
    for (const alias of kind.taskAliases.slice(0, 60)) {
      const wander = (random: Random) => async (candidates: readonly string[]) => {
        const best = (await environment.expertAction?.()) ?? candidates[0];
        expect(candidates).toContain(best);
        return random.choice(candidates.filter((action) => action.startsWith('<search>')));
      };
      const [once, again] = [await play(alias, wander(createRandom(alias))), await play(alias, wander(createRandom(alias)))];
      expect(again).toEqual(once);
      for (const candidates of once.candidates) {
        expect(candidates.length).toBeGreaterThan(0);
        expect(candidates.length).toBeLessThanOrEqual(40);
        expect(candidates).toEqual([...new Set(candidates)].toSorted());
      }
    }
  });

  test('a plan exists only while the remaining turns suffice', async () => {
    const alias = kind.taskAliases.at(-1) ?? '';
    const opening = await environment.reset({ alias, seed: 0 });
    expect(opening.depth).toBe(3);
    expect(await environment.planLength?.()).toBe(4);
    await environment.step('<search>nothing of use</search>');
    expect([await environment.planLength?.(), await environment.expertAction?.()]).toEqual([null, null]);
  });

  test('its fingerprint is the same from release to release', () => {
    expect(kind.fingerprint).toBe('b6d70a1703e3f7b79205a88b8e4502d0ca88fc753f89d4174dfc0ad1f3a4bf45');
    expect(kind.taskAliases).toHaveLength(360);
  });
});

test('another seed is another world, by name', async () => {
  const other = await openEnvironment('search-qa:seed=7;size=2');
  expect(other.taskAliases).toHaveLength(72);
  expect(other.fingerprint).not.toBe(kind.fingerprint);
  await other.close();
});
