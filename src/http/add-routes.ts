import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../postgres/principal.ts';
import { answerEndpoint } from './answer-endpoint.ts';
import type { Needs } from './authorize.ts';
import type { Endpoint, Mount, Route } from './endpoint.ts';
import { createMountBodies } from './mount-body.ts';
import type { Described } from './openapi.ts';
import { type Reply, refuse, send } from './reply.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path with its parameters in braces; none where nothing is found. */
    path?: string;
    needs?: Needs;
    /** Left out where the OpenAPI document does not list the route by itself: HEAD, and methods that are refused. */
    described?: Described;
    /** How the route writes refusals, where not as all others do. */
    refusal?: Endpoint['refusal'];
  }
  interface FastifyRequest {
    /** Who asks; set before the handler runs. */
    principal: Principal;
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/**
 * Adds routes to an application. GET answers HEAD too; a method that a path does not take is refused with those that it takes.
 */
export function addRoutes(app: FastifyInstance, routes: readonly Route[]): void {
  for (const route of routes)
    if ('listener' in route) addMount(app, route);
    else addEndpoint(app, route);
  app.setNotFoundHandler(({ originalUrl, url }, reply) => {
    const path = pathOf(originalUrl);
    const allow = TAKEN.filter((method) => app.findRoute({ method, url }) !== null).join(', ');
    if (allow !== '') return send(reply, refuse(405, `${path} takes ${allow}`, `use ${allow}`, { headers: { allow } }));
    return send(
      reply,
      refuse(404, `nothing is at ${JSON.stringify(path.slice(0, 200))}`, 'GET /openapi.json lists what there is'),
    );
  });
}
const TAKEN: readonly Endpoint['method'][] = ['GET', 'POST', 'PUT', 'DELETE'];

function addEndpoint(app: FastifyInstance, endpoint: Endpoint): void {
  const { method, path, needs, params, query, refusal } = endpoint;
  const handler: Handler = async (request, reply) => send(reply, await answerEndpoint(endpoint, request));
  const route = {
    url: urlOf(endpoint),
    handler,
    schema: { ...(params ? { params } : {}), ...(query ? { querystring: query } : {}) },
  };
  app.route({ ...route, method, config: { path, needs, described: endpoint, refusal } });
  if (method === 'GET') app.route({ ...route, method: 'HEAD', config: { path, needs } });
}

/** Returns a path in the router's terms: `/images/{id}.png` with the pattern that `params` has for `id`. */
function urlOf({ path, params }: Endpoint): string {
  const { properties = {} } = params ? z.toJSONSchema(params) : {};
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const of = properties[name];
    const pattern = typeof of === 'object' ? of.pattern : undefined;
    return `:${name}${pattern === undefined ? '' : `(${pattern})`}`;
  });
}

function addMount(app: FastifyInstance, { path, needs, operations, listener }: Mount): void {
  const arrived = createMountBodies();
  const handler: Handler = async (request, reply) => {
    const { raw: req } = request;
    const unnamed = refuseHost(req.headers.host);
    if (unnamed) return send(reply, unnamed);
    const body = await arrived(req, reply.raw);
    if (body.kind !== 'here') return send(reply, body.kind === 'gone' ? undefined : body.reply);
    await listener(req, reply.raw, { principal: request.principal, connection: connectionOf(req.socket) });
    return reply.hijack(); // not before: what a listener throws is answered as any fault
  };
  const config = { path, needs };
  for (const [method, operation] of Object.entries(operations))
    app.route({ method, url: path, handler, config: { ...config, described: { ...operation, ...config, method } as Described } });
  app.route({ method: 'HEAD', url: path, handler, config });
  app.route({ method: [...Object.keys(operations), 'HEAD'], url: `${path}/`, handler, config });
}

const connections = new WeakMap<Socket, string>();
let opened = 0;

/** Returns a name that no other connection of this process has. */
function connectionOf(socket: Socket): string {
  const name = connections.get(socket) ?? String(++opened);
  connections.set(socket, name);
  return name;
}

/** A mounted listener makes an address of Host and path; one that is none would be a fault there. */
function refuseHost(host = 'localhost'): Reply | undefined {
  if (URL.canParse(`http://${host}/`)) return undefined;
  return refuse(
    400,
    `the header Host is no host: ${JSON.stringify(host.slice(0, 100))}`,
    'send the name or address of this server, and its port',
  );
}

/** Returns the path of a request target. */
export function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? '';
}
