import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Environment, EnvironmentKind } from '../environment.ts';
import { openTextCraft } from './textcraft.ts';

let kind: EnvironmentKind;
let scratch: string;

beforeAll(async () => {
  kind = await openTextCraft();
  scratch = await mkdtemp(join(tmpdir(), 'textcraft-'));
});
afterAll(() => rm(scratch, { recursive: true }));

async function start(alias = '60', seed = 1): Promise<Environment> {
  const environment = await kind.create();
  await environment.reset({ alias, seed });
  return environment;
}

async function play(environment: Environment, actions: readonly string[]) {
  const results = [];
  for (const action of actions) results.push(await environment.step(action));
  return results;
}

async function writePack(name: string, files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = join(scratch, name);
  await mkdir(folder);
  for (const [file, json] of Object.entries(files))
    await writeFile(join(folder, file), typeof json === 'string' ? json : JSON.stringify(json));
  return folder;
}

const shapeless = (ingredient: string, result: string) => ({
  type: 'minecraft:crafting_shapeless',
  ingredients: [{ item: `minecraft:${ingredient}` }],
  result: `minecraft:${result}`,
});

const actions = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.nat(30).map((i) => `#${i}`),
    fc.constantFrom('inventory', 'get 3 flax', 'get 2 hide', 'craft 4 leather strip using 1 hide'),
  ),
  { maxLength: 12 },
);

/** Turns `#7` into the seventh admissible action of the moment. */
async function playChoices(environment: Environment, choices: readonly string[]) {
  const results = [];
  let admissible: readonly string[] = ['inventory'];
  for (const choice of choices) {
    const index = /^#(\d+)$/.exec(choice)?.[1];
    const result = await environment.step(index === undefined ? choice : (admissible[Number(index) % admissible.length] ?? ''));
    admissible = result.admissibleActions ?? [];
    results.push(result);
  }
  return results;
}

describe('reset', () => {
  test('an episode opens with the shown commands, the goal, its depth and the possible actions', async () => {
    const environment = await kind.create();
    const opening = await environment.reset({ alias: '51', seed: 3 });
    expect(opening.observation).toMatch(/^Crafting commands:\n(craft \d+ [^\n]+ using [^\n]+\n)+\nGoal: craft dough\.$/);
    expect(opening).toMatchObject({ goal: 'craft dough', depth: 2, split: null });
    expect(opening.observation.split('\n')).toContain('craft 1 dough using 2 flour, 1 brine');
    expect(opening.admissibleActions).toContain('inventory');
    expect(opening.admissibleActions).toContain('get 2 grain');
    expect(opening.stateHash).toMatch(/^[0-9a-f]{64}$/);
    expect(opening.instruction).toMatch(/Thought:.*\nAction:/);
  });

  test('equal tasks and seeds have equal openings, and another seed shows other commands for the same task', async () => {
    const [one, other] = [await kind.create(), await (await openTextCraft()).create()];
    for (const alias of ['0', '77', '150']) {
      const opening = await one.reset({ alias, seed: 5 });
      expect(await other.reset({ alias, seed: 5 })).toEqual(opening);
    }
    const texts = new Set(
      await Promise.all([1, 2, 3, 4].map(async (seed) => (await one.reset({ alias: '150', seed })).observation)),
    );
    expect(texts.size).toBe(4);
  });

  test('an unknown task is refused by name', async () => {
    const environment = await kind.create();
    for (const alias of ['151', '-1', '01', 'x', '']) {
      await expect(environment.reset({ alias, seed: 1 })).rejects.toMatchObject({ code: 'unknown-task', retryable: false });
    }
    await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'gone' });
  });

  test('a reset starts with an empty inventory', async () => {
    const environment = await start();
    const opening = await environment.reset({ alias: '60', seed: 1 });
    await environment.step('get 1 flax');
    expect((await environment.reset({ alias: '60', seed: 1 })).stateHash).toBe(opening.stateHash);
    expect((await environment.step('inventory')).observation).toBe('Inventory: You are not carrying anything.');
  });
});

describe('step', () => {
  test('the goal ends the episode with a final reward of 1, and further steps are allowed', async () => {
    const environment = await start('51');
    const results = await play(environment, [
      'get 2 salt',
      'get 1 water flask',
      'craft 1 brine using 2 salt, 1 water flask',
      'get 4 grain',
      'craft 1 flour using 2 grain',
      'craft 1 flour using 2 grain',
      'craft 1 dough using 2 flour, 1 brine',
      'inventory',
    ]);
    expect(results.map(({ reward, terminated, success }) => [reward.value, terminated, success])).toEqual([
      ...Array.from({ length: 6 }, () => [0, false, null]),
      [1, true, true],
      [0, false, null],
    ]);
    expect(results[6]).toMatchObject({ observation: 'Crafted 1 minecraft:dough', executable: true, truncated: false });
    expect(results[6]?.reward).toEqual({ value: 1, raw: 1, scale: 1, kind: 'final' });
  });

  test('an unknown or impossible action is an observation, marked as not executable', async () => {
    const results = await play(await start(), [
      '',
      'get 1 dough',
      'craft 1 dough using 2 flour, 1 brine',
      'craft 1 dough using flour',
      'inventory',
    ]);
    expect(results.map(({ observation, executable }) => [observation, executable])).toEqual([
      ['Could not execute ', false],
      ['Could not find dough', false],
      ['Could not find enough items to craft minecraft:dough', false],
      ['Wrong item format: flour', false],
      ['Inventory: You are not carrying anything.', true],
    ]);
  });

  test('the state hash depends on the inventory and not on the way there', async () => {
    const hashes = async (...texts: string[]) => (await play(await start(), texts)).at(-1)?.stateHash;
    expect(await hashes('get 1 flax', 'get 2 hide')).toBe(await hashes('get 2 hide', 'dance', 'get 1 flax'));
    expect(await hashes('get 1 flax')).not.toBe(await hashes('get 2 flax'));
    expect((await play(await start('61'), ['inventory']))[0]?.stateHash).not.toBe(await hashes('inventory'));
  });

  test('any repeated actions have the same results', async () => {
    await fc.assert(
      fc.asyncProperty(actions, fc.nat(150), async (choices, task) => {
        const first = await playChoices(await start(String(task)), choices);
        expect(await playChoices(await start(String(task)), choices)).toEqual(first);
      }),
      { numRuns: 5 },
    );
  });

  test('a clone is independent', async () => {
    await fc.assert(
      fc.asyncProperty(actions, actions, actions, async (before, mine, its) => {
        const original = await start('140');
        await playChoices(original, before);
        const clone = (await original.clone?.()) as Environment; // TextCraft can always be cloned
        const alone = await start('140');
        await playChoices(alone, before);
        const itsResults = await playChoices(clone, its);
        expect(await playChoices(original, mine)).toEqual(await playChoices(alone, mine));
        await clone.close();
        expect(itsResults).toHaveLength(its.length);
        expect((await original.step('inventory')).observation).toEqual((await alone.step('inventory')).observation);
      }),
      { numRuns: 5 },
    );
  });

  test('the expert reaches the goal of a task of any depth', async () => {
    for (const alias of ['0', '50', '100', '150']) {
      const environment = await start(alias);
      let done = false;
      for (let i = 0; i < 24 && !done; i++)
        done = (await environment.step((await environment.expertAction?.()) ?? '')).terminated;
      expect(done).toBe(true);
    }
  });
});

describe('openTextCraft', () => {
  test('the fingerprint depends on the recipes in their order, whatever the names of the files', async () => {
    const [ab, ba] = [shapeless('raw', 'a'), shapeless('raw', 'b')];
    const smelting = { type: 'minecraft:smelting', ingredient: {}, result: 'x' };
    const one = await openTextCraft({
      folder: await writePack('one', { '1.json': ab, '2.json': ba, 'notes.txt': 'not a recipe' }),
    });
    const renamed = await openTextCraft({
      folder: await writePack('renamed', { 'x.json': ab, 'y.json': ba, 'z.json': smelting }),
    });
    const reversed = await openTextCraft({ folder: join(scratch, 'one'), listing: ['2.json', '1.json'] });
    expect(renamed.fingerprint).toBe(one.fingerprint);
    expect(reversed.fingerprint).not.toBe(one.fingerprint);
    expect(kind.fingerprint).not.toBe(one.fingerprint);
    const goalOf = async (opened: EnvironmentKind) => (await (await opened.create()).reset({ alias: '0', seed: 1 })).goal;
    expect([await goalOf(one), await goalOf(reversed)]).toEqual(['craft a', 'craft b']);
  });

  test('tasks are split by the requested rule', async () => {
    const splits = async (opened: EnvironmentKind) => {
      const environment = await opened.create();
      const found = [];
      for (const alias of opened.taskAliases) found.push((await environment.reset({ alias, seed: 1 })).split);
      return found;
    };
    const byHash = await splits(await openTextCraft({ split: { kind: 'by-hash' } }));
    const test = byHash.filter((split) => split === 'test').length;
    expect(test + byHash.filter((split) => split === 'train').length).toBe(151);
    expect(test).toBeGreaterThan(151 / 10);
    expect(test).toBeLessThan((151 * 3) / 10);
    const listed = await splits(await openTextCraft({ split: { kind: 'listed', test: new Set(['1', '3']) } }));
    expect(listed.slice(0, 4)).toEqual(['train', 'test', 'train', 'test']);
  });

  test('a missing folder, a missing listed file, broken JSON, a malformed recipe and an empty folder are each refused with the place', async () => {
    const broken = await writePack('broken', { 'bad.json': '{' });
    const wrong = await writePack('wrong', {
      'wrong.json': { type: 'minecraft:crafting_shapeless', ingredients: 3, result: 'x' },
    });
    const empty = await writePack('empty', {});
    const cases = [
      [{ folder: join(scratch, 'nowhere') }, 'unreachable', 'nowhere'],
      [{ folder: broken, listing: ['gone.json'] }, 'unreachable', 'gone.json'],
      [{ folder: broken }, 'protocol', 'bad.json'],
      [{ folder: wrong }, 'protocol', 'wrong.json'],
      [{ folder: empty }, 'protocol', 'empty'],
    ] as const;
    for (const [options, code, place] of cases) {
      await expect(openTextCraft(options)).rejects.toMatchObject({ code, message: expect.stringContaining(place) });
    }
  });
});
