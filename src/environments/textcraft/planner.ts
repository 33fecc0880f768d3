import type { Inventory } from './act.ts';
import { nameOf } from './names.ts';
import { type Bounds, boundsFor, type Knowledge, learn, type PlannedCraft } from './planner-knowledge.ts';
import type { World } from './world.ts';

/**
 * Plans by searching over multisets of crafts (A*). A node is the balance of every item after some crafts: what is below 0 is
 * still owed. Of the craftable items owed, the one of greatest depth is paid by one more craft that makes it, in every way there
 * is; when only gettable items are owed, one `get` for each completes the plan. A plan's cost is its number of actions, so `get 9
 * x` costs as much as `get 1 x`.
 */
export interface Planner {
  /**
   * Finds a shortest sequence of actions that crafts the goal (once more); null when there is none, or none was found within the
   * limits.
   */
  plan(goal: string, inventory: Inventory): readonly string[] | null;
}

// nodes opened, about 0.5 s. Past it the first plan found depth first is taken: good, and perhaps not the shortest
const SEARCH_LIMIT = 20_000;

interface Node {
  readonly balance: ReadonlyMap<string, number>;
  readonly crafts: number;
  readonly last: PlannedCraft | null;
  readonly before: Node | null;
}

/** Prepares a planner of a world; the preparation is done once and shared by all episodes. */
export function createPlanner(world: World): Planner {
  const knowledge = learn(world);
  return {
    plan: (goal, inventory) =>
      search(knowledge, boundsFor(knowledge, goal, inventory), goal, createBucketQueue()) ??
      search(knowledge, boundsFor(knowledge, goal, inventory), goal, createStack()),
  };
}

function search(knowledge: Knowledge, bounds: Bounds, goal: string, queue: Queue<Node>): readonly string[] | null {
  const cheapest = new Map<string, number>();
  const open = (from: Node, item: string): void => {
    const found: { readonly node: Node; readonly cost: number }[] = [];
    for (const craft of knowledge.craftsOf(item)) {
      const node = apply(from, craft);
      const remaining = bounds.remaining(node.balance);
      if (remaining === null) continue;
      const key = keyOf(node.balance);
      if ((cheapest.get(key) ?? Number.POSITIVE_INFINITY) <= node.crafts) continue;
      cheapest.set(key, node.crafts);
      found.push({ node, cost: node.crafts + remaining });
    }
    // the best last, where ties look first
    for (const { node, cost } of found.sort((a, b) => b.cost - a.cost)) queue.push(cost, node);
  };

  open({ balance: bounds.held, crafts: 0, last: null, before: null }, goal);
  for (let opened = 0; opened < SEARCH_LIMIT; opened++) {
    const node = queue.pop();
    if (node === null) return null;
    const owed = knowledge.highestOwed(node.balance);
    if (owed !== null) {
      open(node, owed);
      continue;
    }
    const plan = schedule(node, bounds);
    if (plan) return plan;
  }
  return null;
}

function apply(node: Node, craft: PlannedCraft): Node {
  const balance = new Map(node.balance);
  for (const [id, count] of craft.consumes) balance.set(id, (balance.get(id) ?? 0) - count);
  balance.set(craft.item, (balance.get(craft.item) ?? 0) + craft.count);
  return { balance, crafts: node.crafts + 1, last: craft, before: node };
}

function keyOf(balance: ReadonlyMap<string, number>): string {
  return JSON.stringify([...balance].filter(([, amount]) => amount !== 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Puts a finished multiset in an executable order, gets first; null when its crafts wait for each other. */
function schedule(leaf: Node, bounds: Bounds): readonly string[] | null {
  const stock = new Map(bounds.held);
  const actions: string[] = [];
  for (const [id, amount] of leaf.balance) {
    if (amount >= 0) continue;
    actions.push(`get ${-amount} ${nameOf(id)}`);
    stock.set(id, (stock.get(id) ?? 0) - amount);
  }

  const waiting: PlannedCraft[] = [];
  for (let node: Node | null = leaf; node?.last; node = node.before) waiting.push(node.last); // the deepest first
  while (waiting.length > 0) {
    const ready = waiting.findIndex(({ consumes }) => consumes.every(([id, count]) => (stock.get(id) ?? 0) >= count));
    const craft = waiting[ready];
    if (craft === undefined) return null;
    waiting.splice(ready, 1);
    for (const [id, count] of craft.consumes) stock.set(id, (stock.get(id) ?? 0) - count);
    stock.set(craft.item, (stock.get(craft.item) ?? 0) + craft.count);
    actions.push(craft.command);
  }
  return actions;
}

interface Queue<T> {
  push(cost: number, item: T): void;
  pop(): T | null;
}

/**
 * A priority queue over small whole costs: the last pushed of the least comes first, so that ties are followed into the depth.
 */
function createBucketQueue<T>(): Queue<T> {
  const buckets: T[][] = [];
  let least = 0;
  return {
    push: (cost, item) => {
      while (buckets.length <= cost) buckets.push([]);
      buckets[cost]?.push(item);
      least = Math.min(least, cost);
    },
    pop: () => {
      while (least < buckets.length && buckets[least]?.length === 0) least++;
      return buckets[least]?.pop() ?? null;
    },
  };
}

function createStack<T>(): Queue<T> {
  const items: T[] = [];
  return { push: (_cost, item) => items.push(item), pop: () => items.pop() ?? null };
}
