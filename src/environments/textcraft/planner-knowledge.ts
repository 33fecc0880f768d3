import { largest, smallest } from '../../domain/extremes.ts';
import { type Inventory, isGettable } from './act.ts';
import { craftsOf } from './crafts.ts';
import { minimalDepths } from './goals.ts';
import { idOf, nameOf } from './names.ts';
import type { World } from './world.ts';

/** A craft in the planner's numbers. */
export interface PlannedCraft {
  readonly command: string;
  readonly consumes: readonly (readonly [id: string, count: number])[];
  readonly item: string;
  readonly count: number;
}

/** What the planner knows of a world, whatever is carried. */
export interface Knowledge {
  craftsOf(item: string): readonly PlannedCraft[];
  /** The craftable item below 0 that lies highest, ties by id; null when only gettable items are owed. */
  highestOwed(balance: ReadonlyMap<string, number>): string | null;
  isGettable(item: string): boolean;
  /** Crafts that one unit costs at the least, as if batches could be shared out in fractions. */
  price(item: string): number;
}

/** What the planner knows of one goal from one inventory. */
export interface Bounds {
  /** What is carried of the items that matter to the goal. */
  readonly held: ReadonlyMap<string, number>;
  /** Bounds from below the actions that a balance still needs; null when something owed can be neither made nor gotten. */
  remaining(balance: ReadonlyMap<string, number>): number | null;
}

/** Learns a world for planning. */
export function learn(world: World): Knowledge {
  const crafts = new Map<string, PlannedCraft[]>();
  for (const [item, recipes] of world.recipesByItem)
    crafts.set(
      item,
      recipes.flatMap((recipe) => craftsOf(world, recipe).flatMap(inNumbers)),
    );
  const craftsFor = (item: string): readonly PlannedCraft[] => crafts.get(item) ?? [];
  const depthOf = minimalDepths(world);
  const prices = fractionalPrices(crafts);
  return {
    craftsOf: craftsFor,
    highestOwed: (balance) => {
      let highest: string | null = null;
      for (const [id, amount] of balance) {
        if (amount >= 0 || craftsFor(id).length === 0) continue;
        const rank = highest === null ? 1 : depthOf(id) - depthOf(highest);
        if (rank > 0 || (rank === 0 && highest !== null && id < highest)) highest = id;
      }
      return highest;
    },
    isGettable: (item) => isGettable(world, item) && idOf(nameOf(item)) === item && !item.includes('\n'),
    price: (item) => prices.get(item) ?? 0,
  };
}

/** Bounds the way to a goal. The items that matter are those below the goal, by any craft. */
export function boundsFor(knowledge: Knowledge, goal: string, inventory: Inventory): Bounds {
  const relevant = itemsBelow(knowledge, goal);
  const held = new Map<string, number>();
  for (const [id, amount] of inventory) if (relevant.has(id) && amount > 0n) held.set(id, Number(amount));
  const forced = forcedGets(knowledge, relevant, held);

  return {
    held,
    remaining: (balance) => {
      const gets = new Set<string>();
      let batches = 0;
      let units = 0;
      for (const [id, amount] of balance) {
        units -= amount * knowledge.price(id);
        if (amount >= 0) continue;
        if (knowledge.isGettable(id)) {
          gets.add(id);
          continue;
        }
        const crafts = knowledge.craftsOf(id);
        const needed = forced.get(id);
        if (needed === undefined) return null;
        batches += Math.ceil(-amount / largest(crafts.map(({ count }) => count)));
        for (const base of needed) gets.add(base);
      }
      return Math.max(batches, Math.ceil(units - 1e-6)) + gets.size;
    },
  };
}

function inNumbers(craft: ReturnType<typeof craftsOf>[number]): PlannedCraft[] {
  const consumes = [...craft.consumes].map(([id, count]) => [id, Number(count)] as const);
  // An ingredient that a pattern never uses must still be carried; no sane pack has one, so such a craft is left to the agent.
  if (consumes.some(([, count]) => count === 0)) return [];
  return [{ command: craft.command, consumes, item: craft.makes.item, count: Number(craft.makes.count) }];
}

/**
 * Prices every item so that no craft gains: count × price(result) <= 1 + sum of count × price(ingredient). By linear-programming
 * duality the prices of what is owed, less those of what is left over, bound the number of crafts from below.
 */
function fractionalPrices(crafts: ReadonlyMap<string, readonly PlannedCraft[]>): ReadonlyMap<string, number> {
  const prices = new Map<string, number>();
  for (const [item, ways] of crafts) if (ways.length > 0) prices.set(item, Number.POSITIVE_INFINITY);
  for (let round = 0; round <= prices.size; round++) {
    let changed = false;
    for (const [item, ways] of crafts) {
      const costs = ways.map(
        ({ consumes, count }) => (1 + consumes.reduce((sum, [id, n]) => sum + n * (prices.get(id) ?? 0), 0)) / count,
      );
      const price = smallest(costs);
      if (price >= (prices.get(item) ?? 0)) continue;
      prices.set(item, price);
      changed = true;
    }
    if (!changed) return new Map([...prices].filter(([, price]) => Number.isFinite(price)));
  }
  return new Map(); // a cycle that gains for ever: no bound but 0 is safe
}

function itemsBelow(knowledge: Knowledge, goal: string): ReadonlySet<string> {
  const found = new Set([goal]);
  for (const item of found) for (const { consumes } of knowledge.craftsOf(item)) for (const [id] of consumes) found.add(id);
  return found;
}

/**
 * Finds for each item the things that must be gotten whatever way it is made, when none of it is held; an item that cannot be
 * made at all is missing. It is the greatest fixed point, so cycles cannot make it too large.
 */
function forcedGets(
  knowledge: Knowledge,
  relevant: ReadonlySet<string>,
  held: ReadonlyMap<string, number>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const forced = new Map<string, ReadonlySet<string>>();
  const neededFor = (id: string): ReadonlySet<string> | undefined => {
    if (held.has(id)) return new Set();
    return knowledge.isGettable(id) ? new Set([id]) : forced.get(id);
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const item of relevant) {
      let common: ReadonlySet<string> | undefined;
      for (const { consumes } of knowledge.craftsOf(item)) {
        const parts = consumes.map(([id]) => neededFor(id));
        if (parts.some((part) => part === undefined)) continue;
        const together = new Set(parts.flatMap((part) => [...(part ?? [])]));
        common = common === undefined ? together : new Set([...common].filter((id) => together.has(id)));
      }
      if (common === undefined || common.size === forced.get(item)?.size) continue;
      forced.set(item, common);
      changed = true;
    }
  }
  return forced;
}
