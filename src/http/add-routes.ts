import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../postgres/principal.ts';
import { inSpan, type SpanOptions, startSpan } from '../runtime/tracing.ts';
import type { Needs } from './authorize.ts';
import type { BodyRule, Endpoint, Mount, Route } from './endpoint.ts';
import type { Described } from './openapi.ts';
import { type Reply, refuse, send } from './reply.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path with its parameters in braces; none where nothing is found. */
    path?: string;
    needs?: Needs;
    /** Left out where the OpenAPI document does not list the route by itself: HEAD, and methods that are refused. */
    described?: Described;
    /** How bodies are received; they are left to the handler where it is left out. */
    body?: BodyRule<unknown> | undefined;
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
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null)); // a listener reads its bodies itself
    for (const route of routes) if ('listener' in route) addMount(scope, route);
  });
  app.register(async (scope) => {
    for (const route of routes) if (!('listener' in route)) addEndpoint(scope, route);
  });
  app.setNotFoundHandler(({ originalUrl, url }, reply) => {
    const path = pathOf(originalUrl);
    const allow = [...RESERVED_PATHS].filter((method) => app.findRoute({ method, url }) !== null).join(', ');
    if (allow !== '') return send(reply, refuse(405, `${path} takes ${allow}`, `use ${allow}`, { headers: { allow } }));
    return send(
      reply,
      refuse(404, `nothing is at ${JSON.stringify(path.slice(0, 200))}`, 'GET /openapi.json lists what there is'),
    );
  });
}
/** The methods that endpoints have. */
export const RESERVED_PATHS: ReadonlySet<string> = new Set<Endpoint['method']>(['GET', 'POST', 'PUT', 'DELETE']);

function addEndpoint(app: FastifyInstance, endpoint: Endpoint): void {
  const { method, path, needs, params, query, headers, body, refusal } = endpoint;
  const isProbe = needs === 'nothing' || path === '/metrics'; // asked every few seconds, of no work
  const answer = (request: FastifyRequest) => (isProbe ? answerEndpoint(endpoint, request) : answerInSpan(endpoint, request));
  const handler: Handler = async (request, reply) => send(reply, await answer(request));
  const route = {
    url: urlOf(endpoint),
    handler,
    ...(body ? { bodyLimit: body.limit } : {}),
    schema: { ...(params ? { params } : {}), ...(query ? { querystring: query } : {}), ...(headers ? { headers } : {}) },
  };
  app.route({ ...route, method, config: { path, needs, described: endpoint, body, refusal } });
  if (method === 'GET') app.route({ ...route, method: 'HEAD', config: { path, needs } });
}

async function answerInSpan(endpoint: Endpoint, request: FastifyRequest): Promise<Reply | undefined> {
  return inSpan(`${endpoint.method} ${endpoint.path}`, spanOptions(request, endpoint.path), async (span) => {
    const reply = await answerEndpoint(endpoint, request);
    if (reply) span.set({ 'http.response.status_code': reply.status });
    return reply;
  });
}

/** What a span says of a request; the client's own span is around it where it names one. */
function spanOptions({ raw, principal }: FastifyRequest, path: string): SpanOptions {
  const { traceparent } = raw.headers;
  return {
    kind: 'server',
    parent: typeof traceparent === 'string' ? traceparent : undefined,
    attributes: { 'http.request.method': raw.method ?? 'GET', 'http.route': path, 'espalier.project': principal.project },
  };
}

/**
 * Answers a request by an endpoint, its body parsed by the endpoint's rule. A request takes its place in the gate when its body
 * is received: a client that sends slowly would hold the place of one that could be served. Undefined when the client went away
 * meanwhile.
 */
async function answerEndpoint({ body: rule, handle }: Endpoint, request: FastifyRequest): Promise<Reply | undefined> {
  const { raw: req, params, query, principal } = request;
  if (!rule) return handle({ req, params, query, body: undefined, principal });
  const leave = rule.gate();
  if (!leave) return rule.full;
  try {
    const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0); // as `receiveBodies` has it parsed
    const parsed = rule.parse(bytes, req.headers);
    if (parsed.kind === 'refused') return parsed.reply;
    return await handle({ req, params, query, body: parsed.value, principal });
  } finally {
    leave();
  }
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
  const handler: Handler = async (request, reply) => {
    const { raw: req } = request;
    const refused = refuseHost(req.headers.host) ?? refuseLength(req.headers);
    if (refused) return send(reply, refused);
    const span = startSpan(`${req.method} ${path}`, spanOptions(request, path));
    reply.raw.once('close', () => {
      span.set({ 'http.response.status_code': reply.raw.statusCode });
      span.end();
    });
    await span.within(() => listener(req, reply.raw, { principal: request.principal }));
    return reply.hijack(); // not before: what a listener throws is answered as any fault
  };
  const config = { path, needs };
  for (const [method, operation] of Object.entries(operations))
    app.route({ method, url: path, handler, config: { ...config, described: { ...operation, ...config, method } as Described } });
  app.route({ method: 'HEAD', url: path, handler, config });
  app.route({ method: [...Object.keys(operations), 'HEAD'], url: `${path}/`, handler, config });
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

const MOUNT_BODY_BYTES = 1_048_576; // a GraphQL operation with its variables; bulk goes through POST /v1/events

function refuseLength({ 'transfer-encoding': coding, 'content-length': length }: IncomingHttpHeaders): Reply | undefined {
  if (coding !== undefined) return refuse(411, 'a body without a Content-Length is not taken here', 'send the length');
  if (Number(length ?? 0) <= MOUNT_BODY_BYTES) return undefined;
  return refuse(413, `the body is over ${MOUNT_BODY_BYTES} bytes`, 'send a smaller operation');
}

/** Returns the path of a request target. */
export function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? '';
}
