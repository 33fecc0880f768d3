import { z } from 'zod';
import { commandOf, distractorCandidates, requiredRecipes, traversalOrder } from '../../environments/textcraft/commands.ts';
import { listGoals, minimalDepths } from '../../environments/textcraft/goals.ts';
import { resetLeakily } from '../../environments/textcraft/leaking-world.ts';
import type { Recipe, World } from '../../environments/textcraft/world.ts';
import { failed, type JudgedCase, judgeEqual, type VectorCheck } from '../vector-check.ts';
import { worldOfPack } from './textcraft-pack.ts';

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
