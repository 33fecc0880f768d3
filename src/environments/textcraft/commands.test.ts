import { describe, expect, test } from '@jest/globals';
import { createRandom } from '../../domain/random/random.ts';
import { chooseShownRecipes, commandOf, distractorCandidates, requiredRecipes } from './commands.ts';
import { vectorWorld } from './fixtures/vector-world.ts';
import { listGoals } from './goals.ts';
import { readRecipes } from './read-recipes.ts';
import { SHIPPED_RECIPES } from './textcraft.ts';
import { buildWorld } from './world.ts';

const world = buildWorld(await readRecipes(SHIPPED_RECIPES));

describe('chooseShownRecipes', () => {
  test('chooseShownRecipes shows all required recipes and up to ten distracting ones', () => {
    const misleading = new Set<number>();
    for (const { item } of listGoals(world)) {
      const required = requiredRecipes(world, item).map(commandOf);
      const candidates = distractorCandidates(world, requiredRecipes(world, item)).map(commandOf);
      const shown = chooseShownRecipes(world, item, createRandom(item)).map(commandOf);
      expect(new Set(shown).size).toBe(shown.length);
      expect(shown).toEqual(expect.arrayContaining(required));
      const others = shown.filter((command) => !required.includes(command));
      expect(others).toHaveLength(Math.min(10, candidates.length));
      expect(candidates).toEqual(expect.arrayContaining(others));
      misleading.add(candidates.length);
    }
    expect(Math.min(...misleading)).toBe(0);
    expect(Math.max(...misleading)).toBeGreaterThan(10); // both sides of the limit were met
  });

  test('the seed determines the choice and the order on every machine', () => {
    const shown = (seed: number) => chooseShownRecipes(vectorWorld(), 'minecraft:gear', createRandom(seed)).map(commandOf);
    expect(shown(1)).toEqual([
      'craft 1 banner using 2 cloths, 1 rod',
      'craft 1 sled using 2 rod, 3 beams',
      'craft 1 gear using 4 rod, 1 copper lump',
      'craft 4 rod using 2 beams',
      'craft 4 birch beam using 1 birch trunk',
      'craft 4 pine beam using 1 pine trunks',
      'craft 1 copper block using 9 copper lump',
    ]);
    expect(shown(2)).not.toEqual(shown(1));
    expect([...shown(2)].sort()).toEqual([...shown(1)].sort());
  });
});
