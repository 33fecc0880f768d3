import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import { createRandom } from '../domain/random/random.ts';
import type { Environment, EnvironmentKind } from '../environments/environment.ts';
import { type GymWorld, route } from './agentgym-server.ts';

/** What a test looks at of the server, and how it spoils the openings of a task. */
export interface SharedRandom {
  readonly world: () => GymWorld;
  /** Resets that began while another one was under way. */
  overlaps(): number;
  /** Resets of a task so far. */
  resetsOf(task: number): number;
  /** Draws the next openings of a task from a wrong state, as if another client of the server had started a task in between. */
  spoil(task: number, times: number): void;
}

interface Running {
  readonly environment: Environment;
  observation: string;
}

const SEED = 42; // what the published server seeds with at every reset
const DISTRACTORS = 4;
const TURNS = 4; // of the event loop between two draws, in which other requests go on: the published server runs each in a thread

/**
 * TextCraft as the published server runs it: `reset` seeds the random state of the process, then draws distractors and shuffles
 * the commands from it, while other requests do the same in threads of their own. One after another, resets of a task open alike;
 * two at the same time take each other's draws. Recipes, goals and steps are those of a world of ours.
 */
export function sharedRandomTextcraft(kind: EnvironmentKind): SharedRandom {
  let shared = createRandom(SEED);
  let running = 0;
  let overlapping = 0;
  const spoiled = new Map<number, number>();
  const resets = new Map<number, number>();
  const count = kind.taskAliases.length;

  async function draw(below: number): Promise<number> {
    for (let i = 0; i < TURNS; i++) await turn();
    return shared.int(below);
  }

  async function reset(environment: Environment, task: number): Promise<string> {
    if (running++ > 0) overlapping++;
    resets.set(task, (resets.get(task) ?? 0) + 1);
    try {
      const left = spoiled.get(task) ?? 0;
      spoiled.set(task, Math.max(0, left - 1));
      shared = createRandom(left > 0 ? SEED + left : SEED);
      const others = await commandsOf((task + 7) % count);
      const { observation } = await environment.reset({ alias: String(task % count), seed: 0 });
      const own = linesOf(observation);
      const shown = [...own];
      for (let i = 0; i < DISTRACTORS; i++) {
        const other = others[await draw(others.length)];
        if (other !== undefined && !shown.includes(other)) shown.push(other);
      }
      for (let i = shown.length - 1; i > 0; i--) {
        const j = await draw(i + 1);
        [shown[i], shown[j]] = [shown[j] as string, shown[i] as string]; // both lie within the list
      }
      return observation.replace(own.join('\n'), shown.join('\n'));
    } finally {
      running--;
    }
  }

  async function commandsOf(task: number): Promise<readonly string[]> {
    const environment = await kind.create();
    const { observation } = await environment.reset({ alias: String(task), seed: 0 });
    await environment.close();
    return linesOf(observation);
  }

  const world = (): GymWorld => {
    const envs = new Map<number, Running>();
    let next = 0;
    const at = (id: number): Running => {
      const one = envs.get(id);
      if (!one) throw new Error(`The id ${id} is not valid.`);
      return one;
    };
    const orError = async (answer: () => Promise<unknown>) => {
      try {
        return await answer();
      } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) };
      }
    };
    return {
      liveness: 'This is environment TextCraft.',
      routes: [
        route('POST', '/create', z.looseObject({}), () =>
          orError(async () => {
            const id = next++;
            const environment = await kind.create();
            const one = { environment, observation: await reset(environment, id) };
            envs.set(id, one);
            return { id, observation: one.observation, done: false, reward: 0 };
          }),
        ),
        route('POST', '/reset', z.object({ id: z.int(), data_idx: z.int().default(0) }), ({ id, data_idx }) =>
          orError(async () => {
            const one = at(id);
            one.observation = await reset(one.environment, data_idx);
            return { id, observation: one.observation, done: false, reward: 0 };
          }),
        ),
        route('POST', '/step', z.object({ id: z.int(), action: z.string() }), ({ id, action }) =>
          orError(async () => {
            const one = at(id);
            const { observation, reward, terminated } = await one.environment.step(action);
            one.observation = observation;
            return { observation, reward: reward.raw, done: terminated };
          }),
        ),
        route('GET', '/observation', z.object({ id: z.int() }), ({ id }) => orError(async () => at(id).observation)),
        route('POST', '/close', z.object({ id: z.int() }), ({ id }) => envs.delete(id)),
      ],
    };
  };

  return {
    world,
    overlaps: () => overlapping,
    resetsOf: (task) => resets.get(task) ?? 0,
    spoil: (task, times) => void spoiled.set(task, times),
  };
}

/** The commands of an opening, line by line. */
function linesOf(observation: string): string[] {
  return observation.match(/^craft .*$/gm) ?? [];
}
