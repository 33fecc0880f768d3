import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createRandom } from '../../domain/random/random.ts';
import { act, type Inventory } from '../../environments/textcraft/act.ts';
import {
  chooseShownRecipes,
  commandOf,
  DISTRACTOR_LIMIT,
  distractorCandidates,
  requiredRecipes,
  traversalOrder,
} from '../../environments/textcraft/commands.ts';
import { goalAt, listGoals, minimalDepths } from '../../environments/textcraft/goals.ts';
import { countRecipes, resetLeakily } from '../../environments/textcraft/leaking-world.ts';
import { parseRecipeFile } from '../../environments/textcraft/recipe-file.ts';
import { describeTask } from '../../environments/textcraft/textcraft.ts';
import { buildWorld, type Recipe, type World } from '../../environments/textcraft/world.ts';
import { failed, type JudgedCase, judgeEqual, passed, type VectorCheck, type VectorFile } from '../vector-check.ts';

const commands = z.array(z.string());
const goalFacts = z.object({
  index: z.int(),
  requiredCommands: commands,
  traversalOrder: commands,
  sampledDistractors_minusRequired: commands,
});
const facts = z.object({
  recipesByItem: z.record(z.string(), commands),
  recipesByTag: z.record(z.string(), commands),
  tags: z.array(z.string()),
  items: z.array(z.string()),
  itemToTag: z.record(z.string(), z.string()),
  transitive: z.record(z.string(), z.array(z.string())),
  minDepth: z.record(z.string(), z.number()),
  goalsInIndexOrder: z.array(z.tuple([z.string(), z.number()])),
  perGoal: z.record(z.string(), goalFacts),
});
const shape = z.object({ facts: z.record(z.string(), facts) });
type GoalFacts = z.infer<typeof goalFacts>;

/** Judges `12_textcraft_world`: what a pack of recipes becomes, and what each of its goals shows. */
export const textcraftWorldCheck: VectorCheck = {
  fileName: /^12_textcraft_world.*\.json$/,
  *judge({ json }) {
    const world = worldOfPack(json);
    for (const [revision, expected] of Object.entries(shape.parse(json).facts)) yield* judgeFacts(world, revision, expected);
  },
};

function* judgeFacts(world: World, revision: string, expected: z.infer<typeof facts>): Iterable<JudgedCase> {
  const depthOf = minimalDepths(world);
  const goals = listGoals(world);
  yield judgeEqual(`${revision}.recipesByItem`, commandsByKey(world.recipesByItem), expected.recipesByItem);
  yield judgeEqual(`${revision}.recipesByTag`, commandsByKey(world.recipesByTag), expected.recipesByTag);
  yield judgeEqual(`${revision}.tags`, [...world.tags].sort(), expected.tags);
  yield judgeEqual(`${revision}.items`, [...world.items].sort(), expected.items);
  yield judgeEqual(`${revision}.itemToTag`, Object.fromEntries(world.tagOfItem), expected.itemToTag);
  const dependencies = Object.fromEntries([...world.dependencies].map(([id, needs]) => [id, [...needs].sort()]));
  yield judgeEqual(`${revision}.transitive`, dependencies, expected.transitive);
  const depths = Object.fromEntries(Object.keys(expected.minDepth).map((id) => [id, depthOf(id)]));
  yield judgeEqual(`${revision}.minDepth`, depths, expected.minDepth);
  yield judgeEqual(
    `${revision}.goalsInIndexOrder`,
    goals.map(({ item, depth }) => [item, depth]),
    expected.goalsInIndexOrder,
  );
  for (const [goal, of] of Object.entries(expected.perGoal)) {
    const name = `${revision}.perGoal.${goal}`;
    yield judgeEqual(
      `${name}.index`,
      goals.findIndex(({ item }) => item === goal),
      of.index,
    );
    yield judgeEqual(`${name}.requiredCommands`, sortedCommands(requiredRecipes(world, goal)), of.requiredCommands);
    yield judgeTraversal(world, goal, `${name}.traversalOrder`, revision, of);
    yield judgeDistractors(world, goal, `${name}.sampledDistractors_minusRequired`, of);
  }
}

/** The 2025-03 server extends the lists that it walks, so its order shows its own leak. Each walk begins in a fresh world. */
function judgeTraversal(world: World, goal: string, name: string, revision: string, expected: GoalFacts): JudgedCase {
  const order = revision === 'old' ? resetLeakily(world, goal).walked.map(commandOf) : traversalOrder(world, goal);
  return judgeEqual(name, order, expected.traversalOrder);
}

/**
 * The original samples up to ten uses of each ingredient: with more there is nothing to compare but that ours could have been
 * drawn.
 */
function judgeDistractors(world: World, goal: string, name: string, expected: GoalFacts): JudgedCase {
  const required = requiredRecipes(world, goal);
  const candidates = sortedCommands(distractorCandidates(world, required));
  const everyRecipe = [...world.recipesByItem.values(), ...world.recipesByTag.values()].flat();
  const usesOf = (id: string): number =>
    everyRecipe.flatMap(({ ingredients }) => ingredients).filter((used) => used.id === id).length;
  if (required.every(({ ingredients }) => ingredients.every(({ id }) => usesOf(id) <= 10))) {
    return judgeEqual(name, candidates, expected.sampledDistractors_minusRequired);
  }
  const stray = expected.sampledDistractors_minusRequired.filter((command) => !candidates.includes(command));
  return stray.length === 0 ? judgeEqual(name, [], stray) : failed(name, `no candidates here: ${stray.join('; ')}`);
}

function commandsByKey(recipes: ReadonlyMap<string, readonly Recipe[]>): Record<string, readonly string[]> {
  return Object.fromEntries([...recipes].map(([key, list]) => [key, list.map(commandOf)]));
}

function sortedCommands(recipes: readonly Recipe[]): readonly string[] {
  return recipes.map(commandOf).sort();
}

const layout = z.object({
  dataIdx: z.int().min(0),
  firstLine: z.string(),
  lastLine: z.string(),
  blankBeforeGoal: z.boolean(),
  commandsSorted: z.array(z.string()),
  explicitCommandsGoalObservation: z.string(),
});
const leakSizes = z.array(z.object({ reset: z.int().min(1), recipesHeld: z.int() })).min(1);
const textcraftResetShape = z.object({ layout, oldRevisionRecipeLeakOverResets: leakSizes.optional() });

/** Judges `12_textcraft_reset`: the first observation of a task. */
export const textcraftResetCheck: VectorCheck = {
  fileName: /^12_textcraft_reset.*\.json$/,
  async *judge(file) {
    const { layout, oldRevisionRecipeLeakOverResets: leak } = textcraftResetShape.parse(file.json);
    const world = await siblingWorld(file);
    const { item } = goalAt(listGoals(world), layout.dataIdx);
    const shown = chooseShownRecipes(world, item, createRandom('conformance')).map(commandOf);
    const lines = describeTask(shown, item).split('\n');

    yield judgeEqual('firstLine', lines[0], layout.firstLine);
    yield judgeEqual('lastLine', lines.at(-1), layout.lastLine);
    yield judgeEqual('blankBeforeGoal', lines.at(-2) === '', layout.blankBeforeGoal);

    const required = requiredRecipes(world, item);
    const candidates = distractorCandidates(world, required).map(commandOf);
    if (candidates.length <= DISTRACTOR_LIMIT) {
      yield judgeEqual('commandsSorted', [...shown].sort(), layout.commandsSorted);
    } else {
      // Which ten of more are shown was drawn by another generator: the count and the kind can be compared, the choice cannot.
      const allowed = new Set([...required.map(commandOf), ...candidates]);
      const stray = layout.commandsSorted.filter((command) => !allowed.has(command));
      if (stray.length > 0) yield failed('commandsSorted', `neither required nor a distractor here: ${stray.join('; ')}`);
      else yield judgeEqual('commandsSorted (how many)', shown.length, layout.commandsSorted.length);
    }

    const explicit = layout.explicitCommandsGoalObservation;
    const [, commands = '', goal = ''] = /^Crafting commands:\n([\s\S]*)\n\nGoal: craft (.*)\.$/.exec(explicit) ?? [];
    const id = `minecraft:${goal.replaceAll(' ', '_')}`;
    yield judgeEqual('explicitCommandsGoalObservation', describeTask(commands.split('\n'), id), explicit);

    if (leak !== undefined) yield judgeLeak(world, leak);
  },
};

/**
 * Judges how the recipe lists of the 2025-03 server grow over resets of one task. The file does not say which task it was: one
 * must grow so, and the deepest is tried first.
 */
function judgeLeak(world: World, expected: z.infer<typeof leakSizes>): JudgedCase {
  const name = 'oldRevisionRecipeLeakOverResets';
  let closest: z.infer<typeof leakSizes> = [];
  for (const { item } of listGoals(world).toReversed()) {
    const sizes = sizesWhileEqual(world, item, expected);
    if (isDeepStrictEqual(sizes, expected)) return passed(name);
    if (sizes.length > closest.length) closest = sizes;
  }
  return judgeEqual(name, closest, expected);
}

/** Returns the sizes up to the first that differs, which ends it: what grows otherwise may grow without measure. */
function sizesWhileEqual(world: World, goal: string, expected: z.infer<typeof leakSizes>): z.infer<typeof leakSizes> {
  const sizes = [];
  let [leaking, done] = [world, 0];
  for (const { reset, recipesHeld } of expected) {
    for (; done < reset; done++) leaking = resetLeakily(leaking, goal).world;
    sizes.push({ reset, recipesHeld: countRecipes(leaking) });
    if (countRecipes(leaking) !== recipesHeld) break;
  }
  return sizes;
}

const step = z.object({
  action: z.string(),
  observation: z.string(),
  reward: z.number(),
  done: z.boolean(),
  inventory: z.record(z.string(), z.number()),
});
const session = z.object({ session: z.string(), goal: z.string(), steps: z.array(step).min(1) });
const textcraftSessionsShape = z.object({ sessions: z.array(session) });

/**
 * Judges `12_textcraft_sessions`: whole episodes, step by step, with the inventory in its order. A session is one case and fails
 * at its first difference.
 */
export const textcraftSessionsCheck: VectorCheck = {
  fileName: /^12_textcraft_sessions.*\.json$/,
  async *judge(file) {
    const { sessions } = textcraftSessionsShape.parse(file.json);
    const world = await siblingWorld(file);
    for (const each of sessions) yield judgeSession(world, each);
  },
};

function judgeSession(world: World, { session: name, goal, steps }: z.infer<typeof session>): JudgedCase {
  let inventory: Inventory = new Map();
  for (const [i, { action, ...expected }] of steps.entries()) {
    const outcome = act(world, goal, inventory, action);
    inventory = outcome.inventory;
    const actual = {
      observation: outcome.observation,
      reward: outcome.reachedGoal ? 1 : 0,
      done: outcome.reachedGoal,
      inventory: [...inventory].map(([id, amount]) => [id, Number(amount)]),
    };
    const wanted = { ...expected, inventory: Object.entries(expected.inventory) };
    if (!isDeepStrictEqual(actual, wanted)) return judgeEqual(`${name}, step ${i + 1} (${action})`, actual, wanted);
  }
  return passed(name);
}

const textcraftPackShape = z.object({ listingOrder: z.array(z.string()), pack: z.record(z.string(), z.unknown()) });

/** Builds the world of a pack in a vector file. @throws Error when the file has no pack or a recipe is malformed. */
function worldOfPack(json: unknown): World {
  const { listingOrder, pack } = textcraftPackShape.parse(json);
  return buildWorld(
    listingOrder.flatMap((name) => {
      const parsed = parseRecipeFile(pack[name]);
      if (parsed.kind === 'malformed') throw new Error(`recipe ${name}: ${parsed.reason}`);
      return parsed.kind === 'recipe' ? [parsed.recipe] : [];
    }),
  );
}

/** Finds the world that a vector file of sessions or resets was made in: its own pack, or that of its sibling world file. */
async function siblingWorld({ name, json, readSibling }: VectorFile): Promise<World> {
  if (textcraftPackShape.safeParse(json).success) return worldOfPack(json);
  return worldOfPack(await readSibling(name.replace(/^12_textcraft_(sessions|reset)/, '12_textcraft_world')));
}
