import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { pathOf } from './add-routes.ts';

const REQUEST_ID = /^[\w.-]{1,128}$/;

const SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];

/**
 * Assigns every request an id (that of its header `x-request-id`, or a new one), which its answer carries; counts and times
 * requests by route and by key; and writes a line of the access log when one has ended, at the level debug.
 */
export function addAccessLog(app: FastifyInstance, logger: Logger, metrics: Metrics): void {
  const byRoute = metrics.counter('http_requests_total', 'Requests answered', ['route', 'method', 'status']);
  const seconds = metrics.histogram('http_request_seconds', 'Time to answer', SECONDS, ['route']);
  const byKey = metrics.counter('requests_by_key_total', 'Requests answered, by the id of the key that asked', ['key', 'status']);
  app.addHook('onRequest', async (request, { raw: res }) => {
    const { method, originalUrl, routeOptions, ip: client } = request;
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    res.setHeader('x-request-id', requestId);
    const began = performance.now();
    res.once('close', () => {
      const [key, route] = [keyOf(request), routeOptions.config.path ?? 'none'];
      const ms = performance.now() - began;
      const status = res.headersSent ? String(res.statusCode) : 'none';
      byRoute.add(1, { route, method, status });
      seconds.observe(ms / 1_000, { route });
      if (key !== null) byKey.add(1, { key, status });
      logger.debug('request', {
        requestId,
        client,
        key,
        method,
        path: pathOf(originalUrl),
        status: Number(status) || 0,
        ms: Math.round(ms),
      });
    });
  });
}

/** Who asked: the id of a key, `local`, or null for a request that nobody was asked for or that was refused before. */
function keyOf({ principal }: FastifyRequest): string | null {
  if (!principal || principal.scopes.length === 0) return null;
  return principal.keyId ?? 'local';
}
