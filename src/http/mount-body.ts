import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyBudget, createBodyBudget } from './ingest/body-budget.ts';
import { type Reply, refuse } from './reply.ts';

const MOUNT_BODY_BYTES = 1_048_576; // a GraphQL operation with its variables; bulk goes through POST /v1/events
const MOUNT_BODIES_BYTES = 64 * MOUNT_BODY_BYTES; // of all together

/**
 * Bounds what mounted listeners read into memory, by the declared lengths: of one body, and of all together. A body without a length is refused.
 * @param cut ends a connection whose body arrives too slowly while the others need the memory, as one that is over its time.
 */
export function createMountBodies(
  cut: (socket: Socket) => void,
): (req: IncomingMessage, res: ServerResponse) => Reply | undefined {
  const budget = createBodyBudget(MOUNT_BODIES_BYTES);
  return (req, res) => refuseLength(req) ?? hold(budget, req, res, cut);
}

function refuseLength({ headers }: IncomingMessage): Reply | undefined {
  if (headers['transfer-encoding'] !== undefined)
    return refuse(411, 'a body without a Content-Length is not taken here', 'send the length');
  if (lengthOf(headers) <= MOUNT_BODY_BYTES) return undefined;
  return refuse(413, `the body is over ${MOUNT_BODY_BYTES} bytes`, 'send a smaller operation');
}

function hold(budget: BodyBudget, req: IncomingMessage, res: ServerResponse, cut: (socket: Socket) => void): Reply | undefined {
  const length = lengthOf(req.headers);
  if (length === 0) return undefined;
  const share = budget.open();
  if (!share.take(length)) {
    share.close();
    return refuse(429, 'the operations in hand take too much memory', 'send again after Retry-After seconds', {
      headers: { 'retry-after': '1' },
    });
  }
  share.ousted.addEventListener('abort', () => cut(req.socket), { once: true });
  req.once('end', () => share.arrived());
  res.once('close', () => share.close());
  return undefined;
}

function lengthOf(headers: IncomingMessage['headers']): number {
  return Number(headers['content-length'] ?? 0);
}
