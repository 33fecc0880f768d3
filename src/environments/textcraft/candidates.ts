import { type Inventory, isGettable } from './act.ts';
import { type Craft, craftsOf, isAffordable, itemsFor } from './crafts.ts';
import { nameOf } from './names.ts';
import type { Recipe, World } from './world.ts';

/** The finite choice that a task offers to policies that pick and do not write. */
export interface Candidates {
  /** Lists the actions that make sense with an inventory, in a fixed order without repetition. */
  from(inventory: Inventory): readonly string[];
}

/**
 * Prepares the candidates of a task from the recipes it shows: `get` in the amounts that some shown command takes, every shown
 * craft that the inventory affords (tags settled on held items), and `inventory`. A `get` may be chosen again and again, so a way
 * to the goal stays open from everywhere.
 */
export function prepareCandidates(world: World, shown: readonly Recipe[]): Candidates {
  const gets = new Set<string>();
  for (const { ingredients } of shown) {
    for (const ingredient of ingredients) {
      for (const id of itemsFor(world, ingredient)) if (isGettable(world, id)) gets.add(`get ${ingredient.count} ${nameOf(id)}`);
    }
  }
  const crafts: readonly Craft[] = shown.flatMap((recipe) => craftsOf(world, recipe));
  return {
    from: (inventory) => {
      const affordable = crafts.filter((craft) => isAffordable(craft, inventory)).map(({ command }) => command);
      return [...new Set([...gets, ...affordable, 'inventory'])];
    },
  };
}
