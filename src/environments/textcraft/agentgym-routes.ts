import { z } from 'zod';
import type { Environment, EnvironmentKind } from '../environment.ts';

/** A request of a server: what it must hold (the body of a POST, the query of a GET), and what is answered. */
export interface AgentGymRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly input: z.ZodType | null;
  readonly answer: (input: never) => unknown;
}

/** What `GET /` answers. */
export const TEXTCRAFT_LIVENESS = 'This is environment TextCraft.';

const byId = z.object({ id: z.int() });
const dataIndex = z.int().min(0).default(0);

/** An environment on the server, and what it answered last. */
interface Place {
  readonly episode: Environment;
  last: { readonly observation: string; readonly reward: number; readonly done: boolean };
}

/**
 * Returns the requests of AgentGym's TextCraft server, with its answers and its texts for errors, and two that it has not: `fork`
 * copies an environment as it is, `replay` creates, resets and takes steps until it is done. As there, a number of a task wraps
 * around, a created environment has a task already, and after the goal the world goes on.
 */
export function agentGymRoutes(kind: EnvironmentKind, seed = 0): readonly AgentGymRoute[] {
  const places = new Map<number, Place>();
  let next = 0;
  const add = (place: Place): number => {
    places.set(next, place);
    return next++;
  };
  const of = (id: number): Place => {
    const place = places.get(id);
    if (place === undefined) throw new Error(`The id ${id} is not valid.`);
    return place;
  };

  const reset = async (place: Place, index: number) => {
    const alias = kind.taskAliases[index % kind.taskAliases.length] ?? '';
    const { observation } = await place.episode.reset({ alias, seed });
    place.last = { observation, reward: 0, done: false };
    return place.last;
  };
  const step = async (place: Place, action: string) => {
    const { observation, reward, terminated } = await place.episode.step(action);
    place.last = { observation, reward: reward.raw, done: terminated };
    return place.last;
  };
  const create = async (index: number | null) => {
    const place: Place = { episode: await kind.create(), last: { observation: '', reward: 0, done: false } };
    const id = add(place);
    return { id, place, opening: await reset(place, index ?? id) };
  };

  return [
    route('POST', '/create', z.looseObject({}), async () => {
      const { id, opening } = await create(null);
      return { id, ...opening };
    }),
    route('POST', '/reset', z.object({ id: z.int(), data_idx: dataIndex }), async ({ id, data_idx }) => ({
      id,
      ...(await reset(of(id), data_idx)),
    })),
    route('POST', '/step', z.object({ id: z.int(), action: z.string() }), ({ id, action }) => step(of(id), action)),
    route('GET', '/observation', byId, ({ id }) => of(id).last.observation),
    route('GET', '/detail', byId, ({ id }) => of(id).last),
    route('POST', '/fork', byId, async ({ id }) => {
      const { episode, last } = of(id);
      if (!episode.clone) throw new Error('this world has no copies');
      return { id: add({ episode: await episode.clone(), last }) };
    }),
    route('POST', '/replay', z.object({ data_idx: dataIndex, actions: z.array(z.string()) }), async ({ data_idx, actions }) => {
      const { id, place, opening } = await create(data_idx);
      const steps = [];
      for (const action of actions) {
        steps.push(await step(place, action));
        if (place.last.done) break;
      }
      return { id, opening: { id, ...opening }, steps };
    }),
    route('POST', '/close', byId, async ({ id }) => {
      await places.get(id)?.episode.close();
      return places.delete(id);
    }),
  ];
}

/** Writes a route whose answer knows the type of its input. What it throws is answered as the server does: with HTTP 200. */
function route<T>(
  method: AgentGymRoute['method'],
  path: string,
  input: z.ZodType<T>,
  answer: (input: T) => unknown,
): AgentGymRoute {
  const orError = async (given: T): Promise<unknown> => {
    try {
      return await answer(given);
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  };
  return { method, path, input, answer: orError as AgentGymRoute['answer'] }; // it is only called with what `input` has parsed
}
