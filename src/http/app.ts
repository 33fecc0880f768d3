import { type IncomingMessage, METHODS, maxHeaderSize } from 'node:http';
import fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import type { z } from 'zod';
import { type Logger, SILENT } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { addAccessLog } from './access-log.ts';
import { addRoutes, pathOf } from './add-routes.ts';
import { type AuthContext, authorize } from './authorize.ts';
import { boundRequests } from './bound-requests.ts';
import type { Route } from './endpoint.ts';
import { addressOf } from './evict-connections.ts';
import { faultReply } from './fault-reply.ts';
import { keyQuotas } from './key-quotas.ts';
import { landingEndpoint } from './landing.ts';
import { refuseForeignPage, refuseOtherHost } from './loopback.ts';
import { addOpenApi, documentEndpoint } from './openapi.ts';
import { setPageRules } from './page-rules.ts';
import { type Reply, refuse, send, wrongFields } from './reply.ts';

export interface AppOptions {
  readonly routes: readonly Route[];
  readonly auth: AuthContext;
  /** Names that the server answers to, besides those of loopback there; any off loopback where there are none. */
  readonly hosts?: readonly string[];
  /** Requests of one key that are answered at the same time. */
  readonly requestsPerKey?: number;
  readonly metrics: Metrics;
  readonly logger?: Logger;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** What is refused before all else, on any path; none unless given. */
  readonly refuseFirst?: (request: FastifyRequest) => Reply | undefined;
  readonly server?: Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'>;
}

/**
 * Makes the application of some routes: what is refused everywhere, routing, replies, faults, measurements, and the document of
 * it all at `GET /openapi.json`. Bodies are not read by the framework: each endpoint has a rule that bounds them, alone and
 * together.
 */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { auth, hosts = [], logger = SILENT, refuseFirst } = options;
  const local = auth.keys === 'optional';
  const refuseOver = boundRequests(options.requestsPerKey ?? Number.POSITIVE_INFINITY);
  const refuseBeyondQuota = keyQuotas(options.clock);
  const app = fastify({
    ...options.server,
    exposeHeadRoutes: false, // a HEAD request is answered by the route of GET; see `send`
    return503OnClosing: false, // a request in flight while the server closes is answered
    rewriteUrl: ({ url = '/' }) => routable(url),
    // Without these two fastify loads ajv and fast-json-stringify, a third of its start.
    schemaController: { compilersFactory: { buildValidator: notUsed, buildSerializer: notUsed } },
    // A parameter has its bound in its pattern; beyond a bound of its own the router would answer by itself.
    routerOptions: { maxParamLength: maxHeaderSize, querystringParser: firstOfEach },
  });
  // A method without a body, to the framework, is one whose body it does not touch.
  for (const method of METHODS) app.addHttpMethod(method, { overrideExisting: true });
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => (value) => {
    const { data, error } = schema.safeParse(httpPart === 'params' ? decoded(value) : value);
    return error ? { error: new Refused(wrongFields(error)) } : { value: data };
  });
  app.decorateRequest('principal', null as never); // set before any handler runs
  const document = await addOpenApi(app);

  if (refuseFirst)
    app.addHook('onRequest', async (request, reply) => {
      const refused = refuseFirst(request);
      if (refused) return send(reply, refused);
    });
  measure(app, options.metrics);
  addAccessLog(app, logger, options.metrics);
  app.addHook('onRequest', async (request, reply) => {
    const { originalUrl, routeOptions } = request;
    const { method = 'GET', httpVersion, headers } = request.raw;
    setPageRules(reply.raw, pathOf(originalUrl));
    reply.raw.setMaxListeners(RESPONSE_LISTENERS);
    const refused =
      refuseUnnamed(httpVersion, request.raw) ??
      refuseOtherHost(originalUrl, headers, { local, hosts }) ??
      (local ? refuseForeignPage(method, headers) : undefined);
    if (refused) return send(reply, refused);
    const entered = local ? auth.local?.enter(method, originalUrl, headers) : undefined;
    if (entered) return send(reply, entered);
    const address = addressOf(request.raw.socket.remoteAddress);
    const authorized = await authorize(auth, headers, routeOptions.config.needs ?? 'any-key', address);
    if (authorized.kind === 'refused') return send(reply, authorized.reply);
    request.principal = authorized.principal;
    const over = refuseBeyondQuota(authorized.principal, reply.raw) ?? refuseOver(authorized.principal, reply.raw);
    if (over) return send(reply, over);
  });
  app.setErrorHandler((error, { method, originalUrl }, reply) => {
    const path = pathOf(originalUrl);
    return send(reply, error instanceof Refused ? error.reply : faultReply(error, logger.with({ method, path })));
  });

  const routes = [...options.routes, documentEndpoint(document)];
  addRoutes(app, [...routes, landingEndpoint(routes)]);
  return app;
}

function notUsed(): never {
  throw new Error('parameters are checked by zod, and replies are sent as they are');
}

// hooks, budgets and gates each wait for the end of a response, and so does the stream of a long one: no leak
const RESPONSE_LISTENERS = 20;

/** A refusal on its way through the framework, which knows errors only. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly reply: Reply;
  constructor(reply: Reply) {
    super(`refused with ${reply.status}`);
    this.reply = reply;
  }
}

const SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];

function measure(app: FastifyInstance, metrics: Metrics): void {
  const requests = metrics.counter('http_requests_total', 'Requests answered', ['route', 'method', 'status']);
  const seconds = metrics.histogram('http_request_seconds', 'Time to answer', SECONDS, ['route']);
  app.addHook('onRequest', async ({ method, routeOptions }, { raw: res }) => {
    const started = performance.now();
    const route = routeOptions.config.path ?? 'none';
    res.once('close', () => {
      requests.add(1, { route, method, status: String(res.headersSent ? res.statusCode : 'none') });
      seconds.observe((performance.now() - started) / 1_000, { route });
    });
  });
}

/** Refuses a request of HTTP/1.1 without a Host, and any with several (RFC 9112 §3.2). */
function refuseUnnamed(httpVersion: string, { rawHeaders }: IncomingMessage): Reply | undefined {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name)).length;
  if (hosts > 1) return refuse(400, 'the request has several headers Host', 'send the name or address of this server once');
  if (httpVersion !== '1.1' || hosts === 1) return undefined;
  return refuse(400, 'the request has no header Host', 'send the name or address of this server');
}

/**
 * Brings the target of a request into the form that the router takes: without scheme and host (RFC 9112 §3.2.2). A path is
 * compared as it was sent, so that no other spelling of it gets past a proxy; only its parameters are decoded.
 */
function routable(target: string): string {
  const [path = '', ...query] = target.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  const literal = path.replaceAll('%', '%25').replaceAll('#', '%23');
  return [literal.startsWith('/') ? literal : `/${literal}`, ...query].join('?');
}

function decoded(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, unescaped(text)]));
}

/** Returns text with its percent escapes decoded; as it is where one escapes nothing. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Of a parameter that a query names twice the first counts. */
function firstOfEach(query: string): Record<string, string> {
  return Object.fromEntries([...new URLSearchParams(query)].reverse());
}
