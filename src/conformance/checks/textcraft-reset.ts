import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createRandom } from '../../domain/random/random.ts';
import {
  chooseShownRecipes,
  commandOf,
  DISTRACTOR_LIMIT,
  distractorCandidates,
  requiredRecipes,
} from '../../environments/textcraft/commands.ts';
import { goalAt, listGoals } from '../../environments/textcraft/goals.ts';
import { countRecipes, resetLeakily } from '../../environments/textcraft/leaking-world.ts';
import { describeTask } from '../../environments/textcraft/textcraft.ts';
import type { World } from '../../environments/textcraft/world.ts';
import { failed, type JudgedCase, judgeEqual, passed, type VectorCheck } from '../vector-check.ts';
import { siblingWorld } from './textcraft-pack.ts';

const layout = z.object({
  dataIdx: z.int().min(0),
  firstLine: z.string(),
  lastLine: z.string(),
  blankBeforeGoal: z.boolean(),
  commandsSorted: z.array(z.string()),
  explicitCommandsGoalObservation: z.string(),
});
const leakSizes = z.array(z.object({ reset: z.int().min(1), recipesHeld: z.int() })).min(1);
const shape = z.object({ layout, oldRevisionRecipeLeakOverResets: leakSizes.optional() });

/** Judges `12_textcraft_reset`: the first observation of a task. */
export const textcraftResetCheck: VectorCheck = {
  fileName: /^12_textcraft_reset.*\.json$/,
  async *judge(file) {
    const { layout, oldRevisionRecipeLeakOverResets: leak } = shape.parse(file.json);
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
