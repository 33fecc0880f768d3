import { z } from 'zod';
import type { CallOptions } from '../http/server-call.ts';
import { isRoute, type ServerReport } from './check-server.ts';
import type { ServerDescriptor } from './descriptor.ts';
import { readRemote, type Server } from './remote.ts';

/** How one server is asked for the actions that are possible, where its answers do not list them. */
export interface Hints {
  /** What is asked at every step; null where the opening says all. */
  readonly route: string | null;
  /** @param opening the observation that the episode began with. @throws EnvironmentError as any read. */
  read(server: Server, id: number, opening: string): Promise<readonly string[]>;
}

const MOST = 1_000; // actions of a list: ScienceWorld's templates have hundreds of thousands, and each step records its list

const valid = z.looseObject({ get_valid_action_object_combinations: z.array(z.string()) });
const templates = z.looseObject({ possible_actions: z.array(z.string()), possible_objects: z.array(z.string()) });
const page = z.looseObject({ has_search_bar: z.boolean(), clickables: z.array(z.string()) });

const COMMANDS: Hints = { route: null, read: async (_server, _id, opening) => commandsIn(opening) };
const VALID: Hints = {
  route: '/valid_action_object_combinations',
  read: async (server, id) => {
    const { get_valid_action_object_combinations: listed } = await readRemote(server, id, VALID.route ?? '', valid);
    return spread(listed, MOST);
  },
};
const TEMPLATES: Hints = {
  route: '/action_hint',
  read: async (server, id) => {
    const { possible_actions, possible_objects } = await readRemote(server, id, TEMPLATES.route ?? '', templates);
    return fillTemplates(possible_actions, possible_objects);
  },
};
const PAGE: Hints = {
  route: '/available_actions',
  read: async (server, id, opening) => {
    const { has_search_bar, clickables } = await readRemote(server, id, PAGE.route ?? '', page);
    const wanted = server.descriptor.goal.exec(opening)?.[1]?.trim() ?? '';
    const search = has_search_bar && wanted !== '' ? [`search[${wanted}]`] : [];
    return [...search, ...clickables.filter((what) => what !== 'search').map((what) => `click[${what}]`)];
  },
};

/** The sources of each environment, the best one first. */
const SOURCES: { readonly [Kind in ServerDescriptor['hints']]: readonly Hints[] } = {
  commands: [COMMANDS],
  simulator: [VALID, TEMPLATES],
  page: [PAGE],
  none: [],
};

/** Returns how a server is asked for what is possible; null where it cannot be. Only GET requests are sent. */
export async function hintsOf(
  { hints, prefix }: ServerDescriptor,
  { routes, routesFrom }: Pick<ServerReport, 'routes' | 'routesFrom'>,
  calls: CallOptions,
): Promise<Hints | null> {
  for (const source of SOURCES[hints]) {
    if (source.route === null || routes.includes(prefix + source.route)) return source;
    if (routesFrom === 'probes' && (await isRoute(prefix + source.route, calls))) return source;
  }
  return null;
}

/** TextCraft: every command that the opening lists, what they take and no command makes, and a look at what is carried. */
export function commandsIn(opening: string): readonly string[] {
  const crafts = [...opening.matchAll(/^craft \d+ (.+?) using (.+)$/gm)];
  const made = new Set(crafts.map(([, item]) => item));
  const gets = crafts.flatMap(([, , uses = '']) =>
    uses.split(', ').flatMap((use) => (made.has(/^\d+ (.+)$/.exec(use)?.[1]) ? [] : [`get ${use}`])),
  );
  return [...new Set([...gets, ...crafts.map(([command]) => command), 'inventory'])];
}

/**
 * ScienceWorld: the templates of actions with the objects that are there in the place of `OBJ`. All with one object, and of those
 * with two as many as there is room for, spread over all pairs.
 */
export function fillTemplates(actions: readonly string[], objects: readonly string[]): readonly string[] {
  const own = actions.filter((action) => action !== 'reset task'); // it is no act in the episode
  const places = (action: string) => action.split('OBJ').length - 1;
  const plain = own.filter((action) => places(action) === 0);
  const single = own.filter((action) => places(action) === 1).flatMap((action) => objects.map((each) => fill(action, each)));
  const short = spread([...plain, ...single], MOST);
  const double = own.filter((action) => places(action) === 2);
  const pairs = objects.length * objects.length;
  const chosen = spreadIndices(double.length * pairs, MOST - short.length).map((index) => {
    const pair = index % pairs;
    const [first, second] = [objects[Math.floor(pair / objects.length)], objects[pair % objects.length]];
    return first === second ? null : fill(fill(double[Math.floor(index / pairs)] ?? '', first ?? ''), second ?? '');
  });
  return [...new Set([...short, ...chosen.filter((action) => action !== null)])];
}

/** A name may hold what stands for the matched text in a replacement. */
function fill(template: string, object: string): string {
  return template.replace('OBJ', () => object);
}

function spread<T>(items: readonly T[], most: number): readonly T[] {
  return spreadIndices(items.length, most).map((index) => items[index] as T); // an index of it
}

function spreadIndices(length: number, most: number): readonly number[] {
  const count = Math.min(length, most);
  return Array.from({ length: count }, (_, i) => Math.floor((i * length) / count));
}
