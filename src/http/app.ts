import { type IncomingMessage, METHODS, maxHeaderSize, type ServerResponse } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { CODE_VERSION } from '../platform/code-version.ts';
import { type Logger, SILENT } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { addAccessLog } from './access-log.ts';
import { addRoutes, pathOf, RESERVED_PATHS } from './add-routes.ts';
import { answerClientError } from './answer-client-error.ts';
import { type AuthContext, authorize } from './authorize.ts';
import { type Endpoint, endpoint, type Route } from './endpoint.ts';
import { faultReply } from './fault-reply.ts';
import { keyQuotas } from './key-quotas.ts';
import { refuseForeignPage, refuseOtherHost } from './loopback.ts';
import { type OpenRequests, trackOpenRequests } from './open-requests.ts';
import { addOpenApi, documentEndpoint } from './openapi.ts';
import { receiveBodies, refusedBody } from './receive-bodies.ts';
import { Refused, type Reply, refuse, send, text, wrongFields } from './reply.ts';

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

/** Returns the endpoint of the page that lists some routes: at `/`, unless one of them lies there. */
function landingEndpoint(routes: readonly Route[]): Endpoint {
  const page = text(200, landingPage(routes), 'text/html; charset=utf-8');
  return endpoint({
    method: 'GET',
    path: routes.some(({ path }) => path === '/') ? '/endpoints' : '/',
    needs: 'any-key',
    summary: 'A page that lists the endpoints.',
    answers: { 200: { description: 'The page.', content: { 'text/html': { type: 'string' } } } },
    handle: async () => page,
  });
}

function landingPage(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const [method, about] =
      'listener' in route
        ? [Object.keys(route.operations).join(', '), Object.values(route.operations)[0]?.summary ?? '']
        : [route.method, route.summary];
    const link = method.startsWith('GET') && !route.path.includes('{');
    const name = link ? `<a href="${route.path}"><code>${route.path}</code></a>` : `<code>${route.path}</code>`;
    return `<tr><td>${method}</td><td>${name}</td><td>${about}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Espalier</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:3rem auto;max-width:46rem;padding:0 1rem;color-scheme:light dark}td{padding:.2rem 1rem .2rem 0;vertical-align:top}</style>
<h1>Espalier</h1>
<p>The record of agents that learn: every step an event, every event a fact.</p>
<table>
${rows.join('\n')}
</table>
</html>
`;
}

/** A page of the server's own writes its styles, and scripts where it has any, into itself and asks this server alone. */
const OWN_PAGE = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:";
// GraphiQL's one file: inline script and styles, an editor with workers and fonts of its own, queries to this server
const GRAPHIQL =
  "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; font-src data:; img-src 'self' data:; connect-src 'self'";
// The studio: scripts, styles and queries of this server;
// the styles that charts and lists set on their elements; its frame of views
const STUDIO =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'";
const EVERYWHERE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sets the headers by which browsers let a page from here load nothing from elsewhere and appear in no frame of another page. */
function setPageRules(res: ServerResponse, path: string): void {
  const rules = path === '/graphql' ? GRAPHIQL : path === '/' || path.startsWith('/view/') ? STUDIO : OWN_PAGE;
  res.setHeader('content-security-policy', `${rules}; ${EVERYWHERE}`);
  res.setHeader('x-frame-options', 'DENY'); // the same for browsers that do not know frame-ancestors
  res.setHeader('cross-origin-resource-policy', 'same-origin');
  res.setHeader('cross-origin-opener-policy', 'same-origin');
  res.setHeader('referrer-policy', 'no-referrer');
  res.setHeader('x-content-type-options', 'nosniff');
}
