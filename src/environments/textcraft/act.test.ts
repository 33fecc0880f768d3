import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { act, type Inventory } from './act.ts';
import { vectorSessions, vectorWorld } from './fixtures/vector-world.ts';

const world = vectorWorld();
const GOAL = 'minecraft:gear';

function carrying(amounts: Record<string, number>): Inventory {
  return new Map(Object.entries(amounts).map(([name, amount]) => [`minecraft:${name}`, BigInt(amount)]));
}

const answer = (action: string, inventory: Inventory = new Map()): string => act(world, GOAL, inventory, action).observation;

describe('recorded sessions of the original', () => {
  test.each(vectorSessions())('the session $session is reproduced', ({ goal, steps }) => {
    let inventory: Inventory = new Map();
    for (const { action, observation, reward, done, inventory: expected } of steps) {
      const outcome = act(world, goal, inventory, action);
      inventory = outcome.inventory;
      expect({
        action,
        observation: outcome.observation,
        done: outcome.reachedGoal,
        reward: Number(outcome.reachedGoal),
      }).toEqual({
        action,
        observation,
        done,
        reward,
      });
      expect([...inventory].map(([id, amount]) => [id, Number(amount)])).toEqual(Object.entries(expected));
    }
  });
});

describe('act', () => {
  test('the number before the output is ignored, except in the error, where a missing one is 1', () => {
    const held = carrying({ pine_beam: 3 });
    expect(answer('craft 99 rod using 2 pine beam', held)).toBe('Crafted 4 minecraft:rod');
    expect(answer('craft rod using 2 pine beam', held)).toBe('Crafted 4 minecraft:rod');
    expect(answer('craft rod using 3 pine beam', held)).toBe(
      "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id='minecraft:rod'), count=1)",
    );
  });

  test('a tag can neither be made nor be used by its name', () => {
    expect(answer('craft 4 rod using 2 beams', carrying({ pine_beam: 2 }))).toBe(
      'Could not find enough items to craft minecraft:rod',
    );
    expect(answer('craft 4 beams using 1 birch trunk')).toBe('Could not find enough items to craft None');
    expect(answer('craft 4 beams using 1 birch trunk', carrying({ birch_trunk: 1 }))).toBe(
      "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag='minecraft:beams', item_id=None), count=4)",
    );
  });

  test('the first input that is not a number and a name is reported, stripped', () => {
    expect(answer('craft 1 gear using 4 rod,  copper lump , x')).toBe('Wrong item format: copper lump');
    expect(answer('craft 1 gear using ')).toBe('Wrong item format: ');
  });

  test('the last `using` divides the command', () => {
    expect(answer('craft 1 a using 1 b using 1 reed', carrying({ reed: 1 }))).toBe(
      "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id='minecraft:a_using_1_b'), count=1)",
    );
  });

  test('counts must match exactly', () => {
    const held = carrying({ reed: 9, resin: 9, rod: 9 });
    for (const inputs of ['3 reed, 1 resin', '2 reed', '2 reed, 1 resin, 1 rod', '1 reed, 1 reed, 1 resin']) {
      expect(answer(`craft 1 cord using ${inputs}`, held)).toMatch(/^Could not find a valid recipe for /);
    }
    expect(answer('craft 1 cord using 1 resin, 2 reed', held)).toBe('Crafted 1 minecraft:cord');
  });

  test('a refused action leaves the inventory unchanged', () => {
    const held = carrying({ reed: 1 });
    for (const action of ['craft 1 cord using 2 reed, 1 resin', 'get 1 rod', 'dance']) {
      expect(act(world, GOAL, held, action)).toMatchObject({ kind: 'refused', inventory: held, reachedGoal: false });
    }
  });

  test('an action ends at its line break, and a number may have any size', () => {
    expect(answer('get 007 reed\nObservation: Got 9 reed')).toBe('Got 7 reed');
    expect(answer('get 99999999999999999999 reed')).toBe('Got 99999999999999999999 reed');
    expect(answer(`get ${'9'.repeat(4301)} reed`)).toMatch(/^Could not execute get 9/);
    expect(answer('craft 1 x\nusing 1 reed')).toBe('Could not execute craft 1 x\nusing 1 reed');
    expect(answer('inventory of all')).toBe('Inventory: You are not carrying anything.');
  });

  test('no text throws, changes the argument, or takes a negative amount', () => {
    const word = fc.constantFrom(
      'craft',
      'get',
      'inventory',
      'using',
      ',',
      '1',
      '2',
      '4',
      'rod',
      'reed',
      'pine beam',
      'beams',
      ' ',
      '\n',
      '-1',
      'minecraft:rod',
    );
    const action = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(word).map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        let inventory: Inventory = carrying({ pine_beam: 4, reed: 3 });
        for (const text of actions) {
          const before = [...inventory];
          const outcome = act(world, GOAL, inventory, text);
          expect([...inventory]).toEqual(before);
          inventory = outcome.inventory;
          expect([...inventory.values()].every((amount) => amount >= 0n)).toBe(true);
        }
      }),
    );
  });
});
