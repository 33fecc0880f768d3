import { z } from 'zod';
import type { Environment, EnvironmentKind } from '../environments/environment.ts';
import { type GymRoute, type GymWorld, route } from './agentgym-server.ts';

// Worlds with the routes, shapes and failures of the published AgentGym servers (sources at 3ef9235); small in content, exact in
// form.

const byId = z.object({ id: z.int() });
const stepById = z.object({ id: z.int(), action: z.string() });
const byIndex = z.object({ env_idx: z.int() });
const stepByIndex = z.object({ env_idx: z.int(), action: z.string() });

/** Answers `{"error"}` with HTTP 200 for whatever is thrown, as the servers of the `id` family do. */
async function orError(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Keeps the environments of an `id` server, with the published texts for an id that is not there. */
function numbered<T extends { done: boolean }>() {
  const all = new Map<number, T>();
  let next = 0;
  return {
    add: (fresh: T): number => {
      all.set(next, fresh);
      return next++;
    },
    get: (id: number, use: 'reset' | 'other' = 'other', endsAtDone = true): T => {
      const one = all.get(id);
      if (one === undefined) throw new Error(`The id ${id} is not valid.`);
      if (endsAtDone && use === 'other' && one.done) throw new Error(`The task with environment ${id} has finished.`);
      return one;
    },
    remove: (id: number): boolean => all.delete(id),
  };
}

/** An environment on the server, and what it answered last. */
interface Place {
  readonly episode: Environment;
  last: { readonly observation: string; readonly reward: number; readonly done: boolean };
}

/**
 * TextCraft over a world of ours: the same observations, letter by letter, and its texts for errors. A number of a task wraps
 * around, a created environment has a task already, and after the goal the world goes on. @param seed what the published server
 * fixes as 42.
 */
export function textcraftWorld(kind: EnvironmentKind, seed = 0): GymWorld {
  const places = new Map<number, Place>();
  let next = 0;
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

  const routes = [
    route('POST', '/create', z.looseObject({}), () =>
      orError(async () => {
        const place: Place = { episode: await kind.create(), last: { observation: '', reward: 0, done: false } };
        const id = next++;
        places.set(id, place);
        return { id, ...(await reset(place, id)) };
      }),
    ),
    route('POST', '/reset', z.object({ id: z.int(), data_idx: z.int().min(0).default(0) }), ({ id, data_idx }) =>
      orError(async () => ({ id, ...(await reset(of(id), data_idx)) })),
    ),
    route('POST', '/step', z.object({ id: z.int(), action: z.string() }), ({ id, action }) =>
      orError(() => step(of(id), action)),
    ),
    route('GET', '/observation', byId, ({ id }) => orError(() => of(id).last.observation)),
    route('GET', '/detail', byId, ({ id }) => orError(() => of(id).last)),
    route('POST', '/close', byId, async ({ id }) => {
      await places.get(id)?.episode.close();
      return places.delete(id);
    }),
  ];
  return { liveness: 'This is environment TextCraft.', routes };
}

interface Science {
  done: boolean;
  score: number;
  observation: string;
}

/**
 * ScienceWorld in one room: boiling water earns 50 and 50, focusing on the agent is fatal. @param patched with the routes that
 * Agent-R added.
 */
export function sciworldWorld(patched = false): GymWorld {
  const envs = numbered<Science>();
  const tasks = ['boil', 'melt', 'freeze'];
  const look = 'This room is called the kitchen. You see a stove and a pot of water.';
  const step = (one: Science, action: string) => {
    const before = one.score;
    if (action === 'focus on agent') one.score = -100;
    else if (action === 'focus on water' && one.score === 0) one.score = 50;
    else if (action === 'activate stove' && one.score === 50) one.score = 100;
    one.observation =
      action === 'look around' ? look : one.score === before ? 'No known action matches that input.' : `You ${action}.`;
    one.done = one.score < 0 || one.score === 100;
    return { observation: one.observation, reward: one.score - before, score: one.score, done: one.done };
  };
  const extras: GymRoute[] = [
    route('GET', '/valid_action_object_combinations', byId, ({ id }) =>
      orError(() => {
        envs.get(id);
        return {
          get_valid_action_object_combinations: [
            'activate stove',
            'focus on water',
            'focus on agent',
            'close endpoint to hallway',
          ],
        };
      }),
    ),
    route('GET', '/look_around', byId, () => ({ look_around: look })),
    route('GET', '/inventory', byId, () => ({ inventory: 'In your inventory, you see: nothing' })),
  ];
  return {
    liveness: 'This is environment ScienceWorld.',
    routes: [
      route('POST', '/create', null, () => ({ id: envs.add({ done: false, score: 0, observation: '' }) })),
      route('POST', '/reset', z.object({ id: z.int(), data_idx: z.int() }), ({ id, data_idx }) =>
        orError(() => {
          const one = envs.get(id, 'reset');
          const task = tasks.at(data_idx);
          if (task === undefined) throw new Error('list index out of range');
          Object.assign(one, { done: false, score: 0, observation: look });
          const task_description = `Your task is to ${task} water.`;
          const rest = { reward: 0, score: 0, deleted: false, done: false };
          return { task_name: task, var_num: 0, task_description, observation: look, ...rest };
        }),
      ),
      route('POST', '/step', stepById, ({ id, action }) => orError(() => step(envs.get(id), action))),
      route('GET', '/observation', byId, ({ id }) => orError(() => envs.get(id).observation)),
      route('GET', '/action_hint', byId, ({ id }) =>
        orError(() => {
          envs.get(id);
          return {
            possible_actions: ['look around', 'activate OBJ', 'focus on OBJ', 'reset task'],
            possible_objects: ['stove', 'water'],
          };
        }),
      ),
      route('POST', '/close', byId, ({ id }) => {
        if (!envs.remove(id)) throw new Error(`KeyError: ${id}`);
        return true;
      }),
      ...(patched ? extras : []),
    ],
  };
}

interface Shop {
  instruction: string;
  page: 'search' | 'results' | 'item' | 'end';
}

/**
 * WebShop with one product: the `env_idx` family, whose errors are HTTP 500, and which has no /close. `click[crash]` breaks it.
 */
export function webshopWorld(): GymWorld {
  const envs = new Map<number, Shop>();
  const instructions = ['Find me a red cup, and price lower than 20.00 dollars', 'Find me a blue cup', 'Find me a lamp'];
  let next = 1_000 + Math.floor(Math.random() * 1e6); // the published server draws its ids at random
  const get = (index: number): Shop => {
    const shop = envs.get(index);
    if (!shop) throw new Error(`KeyError: ${index}`);
    return shop;
  };
  const view = ({ instruction, page }: Shop): string => {
    const parts = {
      search: ['Search'],
      results: ['Back to Search', 'B001', 'Red Cup'],
      item: ['Red Cup', 'Buy Now'],
      end: ['Thank you'],
    };
    return ['WebShop', 'Instruction:', instruction, ...parts[page]].join(' [SEP] ');
  };
  const reset = (shop: Shop, session: number): void => {
    const instruction = instructions[session];
    if (instruction === undefined) throw new Error('IndexError');
    Object.assign(shop, { instruction, page: 'search' });
  };
  const step = (shop: Shop, action: string): number => {
    if (action === 'click[crash]') throw new Error('a bug of the environment');
    if (/^search\[.+\]$/.test(action) && shop.page === 'search') shop.page = 'results';
    else if (action.toLowerCase() === 'click[b001]' && shop.page === 'results') shop.page = 'item';
    else if (action.toLowerCase() === 'click[buy now]' && shop.page === 'item') {
      shop.page = 'end';
      return shop.instruction.includes('red') ? 1 : 0.5;
    }
    return 0;
  };
  return {
    liveness: 'ok',
    routes: [
      route('POST', '/create', null, () => {
        envs.set(++next, { instruction: instructions[0] ?? '', page: 'search' });
        return next;
      }),
      route('POST', '/reset', z.object({ env_idx: z.int(), session_id: z.int().nullish() }), ({ env_idx, session_id }) => {
        const shop = get(env_idx);
        reset(shop, session_id ?? 0);
        return [view(shop), null];
      }),
      route('POST', '/step', stepByIndex, ({ env_idx, action }) => {
        const shop = get(env_idx);
        const reward = step(shop, action);
        return { state: view(shop), reward, done: shop.page === 'end', info: null };
      }),
      route('GET', '/observation', byIndex, ({ env_idx }) => view(get(env_idx))),
      route('GET', '/available_actions', byIndex, ({ env_idx }) => {
        const { page } = get(env_idx);
        const clickables = { search: ['search'], results: ['back to search', 'b001'], item: ['buy now'], end: [] };
        return { has_search_bar: page === 'search', clickables: clickables[page] };
      }),
      route('GET', '/instruction_text', byIndex, ({ env_idx }) => get(env_idx).instruction),
      route('GET', '/list_envs', null, () => [...envs.keys()]),
    ],
  };
}

/**
 * SearchQA with three questions: `env_idx`, a reset that answers a bare text, actions in tags, another try after a wrong answer.
 */
export function searchqaWorld(): GymWorld {
  const envs = new Map<number, number>();
  const questions = [
    { question: 'what is the capital of France', answer: 'paris' },
    { question: 'who wrote Faust', answer: 'goethe' },
    { question: 'how many legs has a spider', answer: 'eight' },
  ];
  let next = 0;
  const at = (index: number | undefined) => {
    const found = questions[index ?? -1];
    if (!found) throw new Error('ValueError');
    return found;
  };
  const observe = (index: number) =>
    `You must reason inside <think>...</think> first.\n\n Question: ${at(envs.get(index)).question}`;
  const step = (index: number, text: string) => {
    const { answer } = at(envs.get(index));
    const [, tag, content = ''] = /<(search|answer)>([\s\S]*?)<\/\1>/.exec(text) ?? [];
    if (tag === 'search')
      return { observation: `<information>Doc 1(Title: ${content.trim()})</information>`, reward: 0, done: false };
    if (tag === undefined) return { observation: 'Your previous action is invalid.', reward: 0, done: false };
    const isRight = content.trim().toLowerCase() === answer;
    const observation = isRight ? 'Congratulations!' : 'Sorry, your answer is incorrect. Please try again.';
    return { observation, reward: isRight ? 1 : 0.1, done: isRight };
  };
  return {
    liveness: 'ok',
    routes: [
      route('POST', '/create', byId, ({ id }) => {
        at(id);
        envs.set(next, id);
        return next++;
      }),
      route('POST', '/reset', z.object({ env_idx: z.int(), id: z.int() }), ({ env_idx, id }) => {
        observe(env_idx);
        at(id);
        envs.set(env_idx, id);
        return observe(env_idx);
      }),
      route('POST', '/step', stepByIndex, ({ env_idx, action }) => ({ ...step(env_idx, action), info: null })),
      route('GET', '/observation', byIndex, ({ env_idx }) => observe(env_idx)),
      route('POST', '/close', byIndex, ({ env_idx }) => envs.delete(env_idx)),
    ],
  };
}

/** ALFWorld with one mug: actions in a field, reset with `world_type`, no /close. */
export function alfworldWorld(): GymWorld {
  const envs = numbered<{ done: boolean; observation: string }>();
  const tasks = ['put a mug in the desk.', 'put a pen on the shelf.', 'look at the lamp.'];
  const available_actions = ['go to desk 1', 'put mug 1 in/on desk 1', 'look'];
  return {
    liveness: 'This is environment AlfWorld.',
    routes: [
      route('POST', '/create', null, () => ({ id: envs.add({ done: false, observation: '' }) })),
      route('POST', '/reset', z.object({ id: z.int(), game: z.int(), world_type: z.string() }), ({ id, game, world_type }) => {
        if (!['Text', 'Embody', 'Hybrid'].includes(world_type))
          return { error: 'world_type must be one of "Text", "Embody" and "Hybrid"' };
        return orError(() => {
          const one = envs.get(id, 'reset');
          const task = tasks.at(game);
          if (task === undefined) throw new Error('list index out of range');
          const observation = `You are in the middle of a room.\nYour task is to: ${task}`;
          Object.assign(one, { done: false, observation });
          return { id, observation, available_actions, task_type: 'pick_and_place/trial' };
        });
      }),
      route('POST', '/step', stepById, ({ id, action }) =>
        orError(() => {
          const one = envs.get(id);
          one.done = action.startsWith('put');
          one.observation = one.done ? 'You put the mug 1 in/on the desk 1.' : 'Nothing happens.';
          return { observation: one.observation, reward: one.done ? 1 : 0, available_actions, done: one.done };
        }),
      ),
      route('GET', '/observation', byId, ({ id }) => orError(() => envs.get(id).observation)),
    ],
  };
}

/** BabyAI with a red ball: the list of actions in the observation, a score that is a running sum. */
export function babyaiWorld(): GymWorld {
  const envs = numbered<{ done: boolean; score: number; observation: string }>();
  const list = '\nAvailable actions: ["turn left", "go to red ball 1", "check available actions"]';
  return {
    liveness: 'This is environment BabyAI.',
    routes: [
      route('POST', '/create', null, () => ({ id: envs.add({ done: false, score: 0, observation: '' }) })),
      route('POST', '/reset', z.object({ id: z.int(), data_idx: z.int() }), ({ id, data_idx }) =>
        orError(() => {
          const one = envs.get(id, 'reset');
          const observation = `Your goal: go to the red ball\nIn front of you you can see a red ball 1 ${data_idx + 2} steps away.${list}`;
          Object.assign(one, { done: false, score: 0, observation });
          return { observation, reward: 0, score: 0, deleted: false, done: false };
        }),
      ),
      route('POST', '/step', stepById, ({ id, action }) =>
        orError(() => {
          const one = envs.get(id);
          one.done = action.toLowerCase().trim() === 'go to red ball 1';
          const reward = one.done ? 0.9 : 0;
          one.score += reward;
          one.observation = one.done ? `The task is completed.\nAvailable actions: [` : `No change in state.${list}`;
          return { observation: one.observation, reward, score: one.score, done: one.done };
        }),
      ),
      route('GET', '/observation', byId, ({ id }) => orError(() => envs.get(id))),
      route('POST', '/close', byId, ({ id }) => envs.remove(id)),
    ],
  };
}

/** LMRL-Gym: a maze of one corridor and a Wordle of three words, under one address, without /close. */
export function lmrlgymWorld(): GymWorld {
  const mazes = numbered<{ done: boolean; at: number; observation: string }>();
  const games = numbered<{ done: boolean; word: string; observation: string }>();
  const words = ['s h i r e', 'f r o w n', 'f e l o n'];
  const stand = (at: number) =>
    `The goal is at position 8, 6. Your current position is at position 8, ${at}. There are walls above you, below you.`;
  const maze: GymRoute[] = [
    route('POST', '/maze/create', null, () => ({ id: mazes.add({ done: false, at: 0, observation: '' }) })),
    route('POST', '/maze/reset', z.object({ id: z.int(), game: z.int() }), ({ id, game }) =>
      orError(() => {
        const one = mazes.get(id, 'reset');
        if (game > 4) throw new Error(`The game ${game} is not valid.`);
        Object.assign(one, { done: false, at: game, observation: stand(game) });
        return { observation: one.observation };
      }),
    ),
    route('POST', '/maze/step', stepById, ({ id, action }) =>
      orError(() => {
        const one = mazes.get(id);
        if (action === 'move right') one.at++;
        one.done = one.at === 6;
        one.observation = one.done ? 'Success\n' : `${stand(one.at)}\n`;
        return { observation: one.observation, reward: one.done ? 1 : action.startsWith('move') ? 0 : -4, done: one.done };
      }),
    ),
    route('GET', '/maze/observation', byId, ({ id }) => orError(() => mazes.get(id).observation)),
  ];
  const wordle: GymRoute[] = [
    route('POST', '/wordle/create', null, () => ({ id: games.add({ done: false, word: '', observation: '' }) })),
    route('POST', '/wordle/reset', z.object({ id: z.int(), seed: z.int() }), ({ id, seed }) =>
      orError(() => {
        const one = games.get(id, 'reset');
        Object.assign(one, { done: false, word: words[seed % words.length], observation: "Let's start Wordle!" });
        return { id, observation: one.observation };
      }),
    ),
    route('POST', '/wordle/step', stepById, ({ id, action }) =>
      orError(() => {
        const one = games.get(id);
        one.done = action === one.word;
        one.observation = words.includes(action) ? (one.done ? 'g g g g g' : 'b b b y b') : 'invalid word';
        return { observation: one.observation, reward: one.done ? 1 : 0, done: one.done };
      }),
    ),
    route('GET', '/wordle/filtered_vocab', byId, ({ id }) => orError(() => (games.get(id) ? words : []))),
    route('GET', '/wordle/observation', byId, ({ id }) => orError(() => games.get(id).observation)),
  ];
  return { liveness: 'This is environment LMRL-Gym.', routes: [...maze, ...wordle] };
}
