import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Environment, EnvironmentKind } from '../environment.ts';

const BODY_LIMIT = 4 * 1024 * 1024; // bytes

export interface TextCraftServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves TextCraft by the protocol of AgentGym's server. Who starts it closes it. @throws Error when the port is taken. */
export async function serveTextCraft(
  kind: EnvironmentKind,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<TextCraftServer> {
  const routes = agentGymRoutes(kind);
  const server = createServer((incoming, response) => {
    answer(routes, incoming)
      .catch(() => ({ status: 500, body: 'Internal Server Error' }))
      .then(({ status, body }) => send(response, status, body));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function answer(routes: readonly AgentGymRoute[], incoming: IncomingMessage): Promise<Answer> {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
  if (pathname === '/' && incoming.method === 'GET') return { status: 200, body: TEXTCRAFT_LIVENESS };
  if (pathname === '/openapi.json') return { status: 200, body: openApi(routes) };
  const here = routes.filter(({ path }) => path === pathname);
  if (here.length === 0) return { status: 404, body: { detail: 'Not Found' } };
  const route = here.find(({ method }) => method === incoming.method);
  if (!route) return { status: 405, body: { detail: 'Method Not Allowed' } };
  const given = route.method === 'GET' ? numbersOf(searchParams) : await bodyOf(incoming);
  if (given === TOO_LONG) return { status: 413, body: { detail: `a request has at most ${BODY_LIMIT} bytes` } };
  // a page in a browser cannot send this type without asking first, and nobody answers that
  if (route.method === 'POST' && given !== undefined && !incoming.headers['content-type']?.startsWith('application/json'))
    return { status: 415, body: { detail: 'Content-Type must be application/json' } };
  const input = route.input?.safeParse(given ?? {});
  if (input?.success === false) return { status: 422, body: { detail: input.error.issues } };
  return { status: 200, body: await route.answer(input?.data as never) }; // parsed by the route's own shape
}

const TOO_LONG = Symbol('too long');

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += (chunk as Buffer).length; // an undecoded request stream yields buffers
    if (length > BODY_LIMIT) return TOO_LONG;
    chunks.push(chunk as Buffer);
  }
  if (length === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null; // which no route takes
  }
}

/** Returns values of a query as FastAPI reads them for `id: int`. */
function numbersOf(query: URLSearchParams): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...query].map(([key, value]) => [key, /^-?\d+$/.test(value) ? Number(value) : value]));
}

function openApi(routes: readonly AgentGymRoute[]): object {
  const paths = routes.map(({ method, path }) => [path, { [method.toLowerCase()]: {} }]);
  return {
    openapi: '3.1.0',
    info: { title: 'FastAPI', version: '0.1.0' },
    paths: { '/': { get: {} }, ...Object.fromEntries(paths) },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A request of a server: what it must hold (the body of a POST, the query of a GET), and what is answered. */
interface AgentGymRoute {
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
