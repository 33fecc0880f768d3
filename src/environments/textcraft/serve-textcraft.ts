import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EnvironmentKind } from '../environment.ts';
import { type AgentGymRoute, agentGymRoutes, TEXTCRAFT_LIVENESS } from './agentgym-routes.ts';

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
