import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { act, type Inventory } from '../../environments/textcraft/act.ts';
import type { World } from '../../environments/textcraft/world.ts';
import { type JudgedCase, judgeEqual, passed, type VectorCheck } from '../vector-check.ts';
import { siblingWorld } from './textcraft-pack.ts';

const step = z.object({
  action: z.string(),
  observation: z.string(),
  reward: z.number(),
  done: z.boolean(),
  inventory: z.record(z.string(), z.number()),
});
const session = z.object({ session: z.string(), goal: z.string(), steps: z.array(step).min(1) });
const shape = z.object({ sessions: z.array(session) });

/**
 * Judges `12_textcraft_sessions`: whole episodes, step by step, with the inventory in its order. A session is one case and fails
 * at its first difference.
 */
export const textcraftSessionsCheck: VectorCheck = {
  fileName: /^12_textcraft_sessions.*\.json$/,
  async *judge(file) {
    const { sessions } = shape.parse(file.json);
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
