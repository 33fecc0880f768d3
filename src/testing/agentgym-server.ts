import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';

/**
 * A stand-in for an AgentGym server: HTTP on loopback, answering as FastAPI does (404, 405, 422, 500 and their bodies), with the
 * routes of a world in the place of the Python environment. It fails on demand, and can be started again: the ids that it gave
 * are forgotten.
 */
export interface AgentGymServer {
  readonly url: string;
  /** Every request that came in, in order of arrival. */
  readonly requests: readonly GymRequest[];
  /** Makes the next requests of a route fail in these ways, one each. */
  fail(route: string, ...faults: readonly Fault[]): void;
  /** Loses everything, as a new process on the same port. */
  restart(): void;
  close(): Promise<void>;
}

export interface GymRequest {
  readonly method: string;
  /** Without the query. */
  readonly route: string;
  readonly body: unknown;
}

export type Fault =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'body'; readonly body: string }
  /** Never answers. `acts`: the environment has executed the request all the same. */
  | { readonly kind: 'silent'; readonly acts: boolean }
  /** Closes the connection before the answer, or within it. */
  | { readonly kind: 'cut'; readonly when: 'before-headers' | 'within-body'; readonly acts: boolean };

/** A route of a world: the shape of its body (POST) or query (GET), and what it answers. What it throws is an HTTP 500. */
export interface GymRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly input: z.ZodType | null;
  readonly answer: (input: never) => unknown;
}

/** Writes a route whose answer knows the type of its input. */
export function route<T>(
  method: GymRoute['method'],
  path: string,
  input: z.ZodType<T> | null,
  answer: (input: T) => unknown,
): GymRoute {
  return { method, path, input, answer: answer as GymRoute['answer'] }; // it is only called with what `input` has parsed
}

export interface GymWorld {
  /** What `GET /` answers. */
  readonly liveness: string;
  readonly routes: readonly GymRoute[];
}

export interface GymServerOptions {
  /** Whether `GET /openapi.json` lists the routes, as FastAPI does and Quart does not. */
  readonly publishesRoutes?: boolean;
}

const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };

/** Starts a server on a free port of 127.0.0.1. @param world builds a fresh world: called at the start and at every restart. */
export async function startAgentGymServer(world: () => GymWorld, options: GymServerOptions = {}): Promise<AgentGymServer> {
  const requests: GymRequest[] = [];
  const faults = new Map<string, Fault[]>();
  let current = world();

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const method = incoming.method ?? 'GET';
    const body = await bodyOf(incoming);
    requests.push({ method, route: url.pathname, body });

    const fault = faults.get(url.pathname)?.shift() ?? { kind: 'none' };
    if (fault.kind === 'status')
      return send(response, fault.status, fault.body ?? 'Internal Server Error', { ...PLAIN, ...fault.headers });
    if (fault.kind === 'body') return send(response, 200, fault.body);
    if ((fault.kind === 'silent' || fault.kind === 'cut') && !fault.acts) return stop(incoming, response, fault);
    const [status, text] = await outcomeOf(method, url, body);
    if (fault.kind !== 'none') return stop(incoming, response, fault);
    send(response, status, text, status === 500 ? PLAIN : {});
  }

  async function outcomeOf(method: string, url: URL, body: unknown): Promise<readonly [number, string]> {
    if (url.pathname === '/') return [200, JSON.stringify(current.liveness)];
    if (url.pathname === '/openapi.json' && options.publishesRoutes !== false)
      return [200, JSON.stringify(openApi(current.routes))];
    const here = current.routes.filter(({ path }) => path === url.pathname);
    if (here.length === 0) return [404, '{"detail":"Not Found"}'];
    const found = here.find((one) => one.method === method);
    if (!found) return [405, '{"detail":"Method Not Allowed"}'];
    const input = found.input?.safeParse(method === 'GET' ? queryOf(url) : body);
    if (input?.success === false) return [422, JSON.stringify({ detail: input.error.issues })];
    try {
      return [200, JSON.stringify(await found.answer((input?.data ?? undefined) as never))]; // parsed by the route's own shape
    } catch {
      return [500, 'Internal Server Error'];
    }
  }

  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    fail: (path, ...more) => void faults.set(path, [...(faults.get(path) ?? []), ...more]),
    restart: () => {
      current = world();
    },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

function stop(incoming: IncomingMessage, response: ServerResponse, fault: Extract<Fault, { kind: 'silent' | 'cut' }>): void {
  if (fault.kind === 'silent') return;
  if (fault.when === 'before-headers') return void incoming.socket.destroy();
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"observation":', () => incoming.socket.destroy());
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // an undecoded request stream yields buffers
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : JSON.parse(text);
}

/** Query values as FastAPI reads them for `id: int`. */
function queryOf(url: URL): Record<string, unknown> {
  return Object.fromEntries([...url.searchParams].map(([key, value]) => [key, /^-?\d+$/.test(value) ? Number(value) : value]));
}

function openApi(routes: readonly GymRoute[]): unknown {
  const paths: Record<string, Record<string, unknown>> = { '/': { get: {} } };
  for (const { method, path } of routes) paths[path] = { ...paths[path], [method.toLowerCase()]: {} };
  return { openapi: '3.1.0', info: { title: 'FastAPI', version: '0.1.0' }, paths };
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}
