import { pythonRepr } from '../python-text.ts';
import { type CraftRequest, findRecipe, readCraft } from './craft-request.ts';
import { idOf, nameOf } from './names.ts';
import type { World } from './world.ts';

/** What the agent carries, in the order of first acquisition. An amount of 0 can stand (`get 0 reed`). */
export type Inventory = ReadonlyMap<string, bigint>;

export interface ActOutcome {
  readonly kind: 'executed' | 'refused';
  readonly observation: string;
  readonly inventory: Inventory;
  /** Whether this very action made (or got) the goal. */
  readonly reachedGoal: boolean;
}

// As in Python: `.` stops at a newline only, and a number of more than 4,300 digits is none.
const GET = /^get ([0-9]{1,4300}) ([^\n]*)/;

/**
 * Executes one action text on an inventory. Texts that make no sense are answered, never thrown; after the goal the world goes on
 * as before. Observations are those of AgentGym's TextCraft, letter by letter (agent-r §7.4).
 */
export function act(world: World, goal: string, inventory: Inventory, action: string): ActOutcome {
  const refused = (observation: string): ActOutcome => ({ kind: 'refused', observation, inventory, reachedGoal: false });

  const craft = readCraft(world, action);
  if (craft?.kind === 'malformed') return refused(`Wrong item format: ${craft.part}`);
  if (craft) return executeCraft(world, goal, inventory, craft, refused);

  const get = GET.exec(action);
  if (get) {
    const [amount, name] = [BigInt(get[1] ?? '0'), get[2] ?? '']; // both groups take part in every match
    const id = idOf(name);
    if (!isGettable(world, id)) return refused(`Could not find ${name}`);
    return {
      kind: 'executed',
      observation: `Got ${amount} ${name}`,
      inventory: add(inventory, id, amount),
      reachedGoal: id === goal,
    };
  }

  if (action.startsWith('inventory'))
    return { kind: 'executed', observation: describe(inventory), inventory, reachedGoal: false };
  return refused(`Could not execute ${action}`);
}

/** Returns whether `get` finds a thing: it is an item, and nothing makes it. */
export function isGettable(world: World, id: string): boolean {
  return world.items.has(id) && !world.tags.has(id) && !world.recipesByItem.has(id) && !world.recipesByTag.has(id);
}

function executeCraft(
  world: World,
  goal: string,
  inventory: Inventory,
  request: CraftRequest,
  refused: (observation: string) => ActOutcome,
): ActOutcome {
  const { output, inputs } = request;
  const lacking = `Could not find enough items to craft ${output.kind === 'item' ? output.id : 'None'}`;
  if (!inputs.every(({ kind, id, count }) => kind === 'item' && (inventory.get(id) ?? -1n) >= count)) return refused(lacking);

  const recipe = findRecipe(world, request);
  if (recipe === null) return refused(`Could not find a valid recipe for ${describeRequest(request)}`);

  let left = inventory;
  for (const { id, count } of inputs) {
    // One item named twice was checked twice against the whole; together it may be too little, and no amount goes below 0 here.
    if ((left.get(id) ?? 0n) < count) return refused(lacking);
    left = remove(left, id, count);
  }
  const { item, count } = recipe.output;
  return {
    kind: 'executed',
    observation: `Crafted ${count} ${item}`,
    inventory: add(left, item, count),
    reachedGoal: item === goal,
  };
}

/** The original prints its request object, a Python dataclass, into the observation. */
function describeRequest({ output, outputCount }: CraftRequest): string {
  const tag = output.kind === 'tag' ? pythonRepr(output.id) : 'None';
  const item = output.kind === 'item' ? pythonRepr(output.id) : 'None';
  return `ItemTagWithCount(item_tag=ItemTag(tag=${tag}, item_id=${item}), count=${outputCount})`;
}

function describe(inventory: Inventory): string {
  if (inventory.size === 0) return 'Inventory: You are not carrying anything.';
  return `Inventory: ${[...inventory].map(([id, amount]) => `[${nameOf(id)}] (${amount}) `).join('')}`;
}

function add(inventory: Inventory, id: string, amount: bigint): Inventory {
  return new Map(inventory).set(id, (inventory.get(id) ?? 0n) + amount);
}

function remove(inventory: Inventory, id: string, amount: bigint): Inventory {
  const left = new Map(inventory);
  const rest = (inventory.get(id) ?? 0n) - amount;
  if (rest === 0n) left.delete(id);
  else left.set(id, rest);
  return left;
}
