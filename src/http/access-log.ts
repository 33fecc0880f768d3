import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { pathOf } from './add-routes.ts';

const REQUEST_ID = /^[\w.-]{1,128}$/;

/**
 * Assigns every request an id (that of its header `x-request-id`, or a new one), which its answer carries; writes a line of the
 * access log when it has ended, at the level debug, with request id and key id; and counts requests by key.
 */
export function addAccessLog(app: FastifyInstance, logger: Logger, metrics: Metrics): void {
  const byKey = metrics.counter('requests_by_key_total', 'Requests answered, by the id of the key that asked', ['key', 'status']);
  app.addHook('onRequest', async (request, { raw: res }) => {
    const { method, originalUrl } = request;
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    res.setHeader('x-request-id', requestId);
    const began = performance.now();
    res.once('close', () => {
      const key = keyOf(request);
      const status = res.headersSent ? res.statusCode : 0;
      if (key !== null) byKey.add(1, { key, status: String(status) });
      const ms = Math.round(performance.now() - began);
      logger.debug('request', { requestId, key, method, path: pathOf(originalUrl), status, ms });
    });
  });
}

/** Who asked: the id of a key, `local`, or null for a request that nobody was asked for or that was refused before. */
function keyOf({ principal }: FastifyRequest): string | null {
  if (!principal || principal.scopes.length === 0) return null;
  return principal.keyId ?? 'local';
}
