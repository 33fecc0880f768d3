import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { type Environment, EnvironmentError, type EnvironmentKind, type Opening, type StepResult } from '../environment.ts';
import { defineEnvironment, wholeRest } from '../environment-entry.ts';
import { text } from '../option-kinds.ts';
import { type ActOutcome, act, type Inventory, isGettable } from './act.ts';
import { chooseShownRecipes, commandOf } from './commands.ts';
import { type Craft, craftsOf, isAffordable, itemsFor } from './crafts.ts';
import { type Goal, listGoals } from './goals.ts';
import { INSTRUCTION } from './instruction.ts';
import { nameOf } from './names.ts';
import { createPlanner, type Planner } from './planner.ts';
import { readRecipes } from './read-recipes.ts';
import type { RecipeFile } from './recipe-file.ts';
import { buildWorld, type Recipe, type World } from './world.ts';

export interface TextCraftOptions {
  /** The folder of recipe files; the project's own pack when not given. */
  readonly folder?: string;
  /**
   * The files of the folder in loading order, for a world that was loaded in a machine's own directory order; by name when not
   * given.
   */
  readonly listing?: readonly string[];
  /** How tasks are divided: not at all (the default), every fifth goal by hash to `test`, or the listed aliases to `test`. */
  readonly split?: SplitRule;
}

export type SplitRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'by-hash' }
  | { readonly kind: 'listed'; readonly test: ReadonlySet<string> };

/** The recipes that we wrote and ship. */
export const SHIPPED_RECIPES = fileURLToPath(new URL('./recipes', import.meta.url));

/**
 * Opens TextCraft: crafting tasks in a world of recipes. A task's alias is the decimal index of its goal; the seed chooses which
 * misleading commands are shown and in what order. @throws EnvironmentError when the recipes cannot be read or understood.
 */
export async function openTextCraft(options: TextCraftOptions = {}): Promise<EnvironmentKind> {
  const recipes = await readRecipes(options.folder ?? SHIPPED_RECIPES, options.listing);
  const world = buildWorld(recipes);
  const goals = listGoals(world);
  const kind: Kind = {
    world,
    fingerprint: worldFingerprint(recipes),
    goals: new Map(goals.map((goal, index) => [String(index), goal])),
    planner: createPlanner(world),
    split: options.split ?? { kind: 'none' },
  };
  return {
    name: 'textcraft',
    fingerprint: kind.fingerprint,
    taskAliases: [...kind.goals.keys()],
    deterministic: true,
    create: async () => createEpisode(kind, null),
    close: async () => {},
  };
}

interface Kind {
  readonly world: World;
  readonly fingerprint: string;
  readonly goals: ReadonlyMap<string, Goal>;
  readonly planner: Planner;
  readonly split: SplitRule;
}

interface Situation {
  readonly goal: string;
  readonly candidates: Candidates;
  readonly inventory: Inventory;
}

function createEpisode(kind: Kind, initial: Situation | null): Environment {
  let situation = initial;
  const current = (): Situation => {
    if (situation === null) throw new EnvironmentError('gone', 'no task is running: reset first');
    return situation;
  };
  const hash = ({ goal, inventory }: Situation): string => stateFingerprint(kind.fingerprint, goal, inventory);

  return {
    reset: async ({ alias, seed }) => {
      const goal = kind.goals.get(alias);
      if (goal === undefined) {
        throw new EnvironmentError(
          'unknown-task',
          `TextCraft has tasks 0 to ${kind.goals.size - 1}, not ${JSON.stringify(alias.slice(0, 80))}`,
        );
      }
      const random = createRandom(seedFrom('textcraft', kind.fingerprint, alias, seed));
      const shownRecipes = chooseShownRecipes(kind.world, goal.item, random);
      const started: Situation = {
        goal: goal.item,
        candidates: prepareCandidates(kind.world, shownRecipes),
        inventory: new Map(),
      };
      situation = started;
      return {
        instruction: INSTRUCTION,
        observation: describeTask(shownRecipes.map(commandOf), goal.item),
        goal: `craft ${nameOf(goal.item)}`,
        depth: goal.depth,
        split: splitOf(kind.split, alias, goal),
        admissibleActions: started.candidates.from(started.inventory),
        stateHash: hash(started),
      } satisfies Opening;
    },
    step: async (action) => {
      const before = current();
      const outcome = act(kind.world, before.goal, before.inventory, action);
      const after = { ...before, inventory: outcome.inventory };
      situation = after;
      return describeStep(outcome, after.candidates, hash(after));
    },
    parse: parseThoughtAction,
    clone: async () => createEpisode(kind, situation), // a situation never changes, so sharing it is copying it
    expertAction: async () => kind.planner.plan(current().goal, current().inventory)?.[0] ?? null,
    planLength: async () => kind.planner.plan(current().goal, current().inventory)?.length ?? null,
    close: async () => {
      situation = null;
    },
  };
}

/** Writes the first observation of a task, as AgentGym does. */
export function describeTask(commands: readonly string[], goal: string): string {
  return `Crafting commands:\n${commands.join('\n')}\n\nGoal: craft ${nameOf(goal)}.`;
}

function describeStep(outcome: ActOutcome, candidates: Candidates, stateHash: string): StepResult {
  const raw = outcome.reachedGoal ? 1 : 0;
  return {
    observation: outcome.observation,
    reward: { value: raw, raw, scale: 1, kind: 'final' },
    terminated: outcome.reachedGoal,
    truncated: false,
    success: outcome.reachedGoal ? true : null,
    executable: outcome.kind === 'executed',
    admissibleActions: candidates.from(outcome.inventory),
    stateHash,
  };
}

function splitOf(rule: SplitRule, alias: string, goal: Goal): string | null {
  switch (rule.kind) {
    case 'none':
      return null;
    case 'by-hash':
      return splitByHash(goal.item);
    case 'listed':
      return rule.test.has(alias) ? 'test' : 'train';
    default:
      return rule satisfies never;
  }
}

/** The finite choice that a task offers to policies that pick and do not write. */
interface Candidates {
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

/** Raised when the rules change what a task is or how the world answers: trees of different revisions are never merged. */
const RULES_REVISION = 1;

/**
 * Hashes what determines tasks and dynamics: the crafting recipes in listing order and the revision of the rules. File names and
 * ignored types do not count.
 */
function worldFingerprint(recipes: readonly RecipeFile[]): string {
  const canonical = recipes.map(({ ingredients, result, group }) => [
    ingredients.map(({ kind, id, count }) => [kind, id, String(count)]),
    [result.id, String(result.count)],
    group,
  ]);
  return sha256Hex(JSON.stringify(['textcraft', RULES_REVISION, canonical]));
}

/**
 * Hashes a situation: world, goal and what is carried, by item id. The order of acquisition is left out although `inventory`
 * shows it: no action distinguishes two such situations in any other way, and equal ones must meet when steps are grouped by
 * state.
 */
function stateFingerprint(world: string, goal: string, inventory: Inventory): string {
  const carried = [...inventory].map(([id, amount]) => [id, String(amount)]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return sha256Hex(JSON.stringify([world, goal, carried]));
}

/**
 * Puts every fifth goal, by hash, into the `test` split and the others into `train`. Only the goal's id is hashed, so a goal
 * stays on its side when the recipes around it change and its index moves.
 */
function splitByHash(goal: string): 'train' | 'test' {
  return Number.parseInt(sha256Hex(JSON.stringify(['textcraft-split', goal])).slice(0, 8), 16) % 5 === 0 ? 'test' : 'train';
}

export const textcraft = defineEnvironment({
  name: 'textcraft',
  summary: 'crafting tasks in a world of recipes; every fifth goal is for tests',
  options: z.strictObject({ folder: text('FOLDER', 'recipe files; those that are shipped when left out').optional() }),
  syntax: wholeRest('textcraft', 'folder', 'FOLDER'),
  open: ({ folder = SHIPPED_RECIPES }) => openTextCraft({ folder, split: { kind: 'by-hash' } }),
});
