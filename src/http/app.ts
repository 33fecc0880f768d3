import { type IncomingMessage, METHODS, maxHeaderSize } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { CODE_VERSION } from '../platform/code-version.ts';
import { type Logger, SILENT } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { addAccessLog } from './access-log.ts';
import { addRoutes, pathOf, RESERVED_PATHS } from './add-routes.ts';
import { answerClientError } from './answer-client-error.ts';
import { type AuthContext, authorize } from './authorize.ts';
import type { Route } from './endpoint.ts';
import { faultReply } from './fault-reply.ts';
import { keyQuotas } from './key-quotas.ts';
import { landingEndpoint } from './landing.ts';
import { refuseForeignPage, refuseOtherHost } from './loopback.ts';
import { type OpenRequests, trackOpenRequests } from './open-requests.ts';
import { addOpenApi, documentEndpoint } from './openapi.ts';
import { setPageRules } from './page-rules.ts';
import { receiveBodies, refusedBody } from './receive-bodies.ts';
import { Refused, type Reply, refuse, send, wrongFields } from './reply.ts';

export interface Timeouts {
  /** For the headers of a request to arrive. */
  readonly headersMs: number;
  /** For a whole request, body included, to arrive. */
  readonly requestMs: number;
  /** For a connection on which nothing moves. */
  readonly idleMs: number;
  /** For open requests when the server closes. */
  readonly closeMs: number;
}
const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 60_000, idleMs: 120_000, closeMs: 5_000 };

export interface AppOptions {
  readonly routes: readonly Route[];
  readonly auth: AuthContext;
  /** Names that the server answers to, besides those of loopback there; any off loopback where there are none. */
  readonly hosts?: readonly string[];
  /** Addresses of proxies whose `X-Forwarded-For` names the client; any other is ignored. */
  readonly trustedProxies?: readonly string[];
  /** Requests of one key that are answered at the same time. */
  readonly requestsPerKey?: number;
  /** Returns which of some keys are neither revoked nor expired; left out, no response is ended for its key. */
  readonly activeKeys?: (keyIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly timeouts?: Partial<Timeouts>;
  readonly metrics: Metrics;
  /** What tells the installation from others, for clients that keep what they record until it has it. */
  readonly installation?: string;
  readonly logger?: Logger;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

/**
 * Makes the application of some routes: what is refused everywhere, routing, replies, faults, measurements, and the document of
 * it all at `GET /openapi.json`. Each endpoint has a rule that bounds its bodies, alone and together.
 */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { auth, hosts = [], trustedProxies = [], logger = SILENT } = options;
  const { headersMs, requestMs, idleMs, closeMs } = { ...TIMEOUTS, ...options.timeouts };
  const local = auth.keys === 'optional';
  let open: OpenRequests | undefined;
  const refuseBeyondQuota = keyQuotas(options.clock);
  const app = fastify({
    requestTimeout: requestMs,
    connectionTimeout: idleMs,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    keepAliveTimeout: 75_000, // above the 60 s of common load balancers, so that the client closes an idle connection first
    http: {
      headersTimeout: headersMs,
      connectionsCheckingInterval: Math.min(1_000, headersMs),
      requireHostHeader: false, // node's own refusal returns no reason
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, open?.on(socket) ?? []),
    exposeHeadRoutes: false, // a HEAD request is answered by the route of GET; see `send`
    return503OnClosing: false, // a request in flight while the server closes is answered
    rewriteUrl: ({ url = '/' }) => routable(url),
    // Without these two fastify loads ajv and fast-json-stringify, a third of its start.
    schemaController: { compilersFactory: { buildValidator: notUsed, buildSerializer: notUsed } },
    // A parameter has its bound in its pattern; beyond a bound of its own the router would answer by itself.
    routerOptions: { maxParamLength: maxHeaderSize, querystringParser: firstOfEach },
  });
  app.server.on('checkExpectation', (req, res) => app.server.emit('request', req, res)); // what it expects may be left out
  open = trackOpenRequests(app, {
    perKey: options.requestsPerKey ?? Number.POSITIVE_INFINITY,
    closeMs,
    activeKeys: options.activeKeys,
  });
  // No endpoint has a body with another method, and the framework would refuse some of them by itself.
  for (const method of METHODS) if (!RESERVED_PATHS.has(method)) app.addHttpMethod(method, { overrideExisting: true });
  receiveBodies(app);
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => (value) => {
    const { data, error } = schema.safeParse(httpPart === 'params' ? decoded(value) : value);
    return error ? { error: new Refused(wrongFields(error)) } : { value: data };
  });
  app.decorateRequest('principal', null as never); // set before any handler runs
  const document = await addOpenApi(app);

  addAccessLog(app, logger, options.metrics);
  app.addHook('onRequest', async (request, reply) => {
    const { originalUrl, routeOptions } = request;
    const { method = 'GET', httpVersion, headers } = request.raw;
    setPageRules(reply.raw, pathOf(originalUrl));
    reply.raw.setHeader('espalier-version', CODE_VERSION);
    if (options.installation !== undefined) reply.raw.setHeader('espalier-installation', options.installation);
    reply.raw.setMaxListeners(RESPONSE_LISTENERS);
    const refused =
      refuseUnnamed(httpVersion, request.raw) ??
      refuseOtherHost(originalUrl, headers, { local, hosts }) ??
      (local ? refuseForeignPage(method, headers) : undefined);
    if (refused) return send(reply, refused);
    const entered = local ? auth.local?.enter(method, originalUrl, headers) : undefined;
    if (entered) return send(reply, entered);
    const authorized = await authorize(auth, headers, routeOptions.config.needs ?? 'any-key');
    if (authorized.kind === 'refused') return send(reply, authorized.reply);
    if (request.raw.socket.destroyed) return send(reply, undefined); // gone while the key was looked up: nothing would give its place back
    request.principal = authorized.principal;
    const over = refuseBeyondQuota(authorized.principal, reply.raw) ?? open?.enter(authorized.principal, reply.raw);
    if (over) return send(reply, over);
  });
  app.setErrorHandler((error, request, reply) => {
    const { method, originalUrl } = request;
    if (reply.raw.destroyed || request.raw.errored) return send(reply, undefined); // the client went away
    const refused = error instanceof Refused ? error.reply : refusedBody(error, request);
    return send(reply, refused ?? faultReply(error, logger.with({ method, path: pathOf(originalUrl) })));
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
