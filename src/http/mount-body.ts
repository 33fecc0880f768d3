import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBodyBudget, type Share } from './ingest/body-budget.ts';
import { busy, tooSlow } from './ingest/read-body.ts';
import { type Reply, refuse } from './reply.ts';

const MOUNT_BODY_BYTES = 1_048_576; // a GraphQL operation with its variables; bulk goes through POST /v1/events
const MOUNT_BODIES_BYTES = 64 * MOUNT_BODY_BYTES; // of all together

/** What a mounted listener is to do: go on, not begin for a reply, or not begin since the client went away. */
export type Held = { readonly kind: 'here' } | { readonly kind: 'refused'; readonly reply: Reply } | { readonly kind: 'gone' };

/**
 * Waits for the bodies of mounted listeners and puts them back for these to read, bounded one by one and all together: a listener
 * begins when all is here. A body without a length is refused.
 */
export function createMountBodies(): (req: IncomingMessage, res: ServerResponse) => Promise<Held> {
  const budget = createBodyBudget(MOUNT_BODIES_BYTES);
  return async (req, res) => {
    const reply = refuseLength(req);
    if (reply) return { kind: 'refused', reply };
    const length = lengthOf(req);
    if (length === 0) return { kind: 'here' };
    const share = budget.open();
    // What was read by the listener is its own to bound.
    req.once('end', () => share.close());
    res.once('close', () => share.close());
    return arrived(req, length, share);
  };
}

function refuseLength(req: IncomingMessage): Reply | undefined {
  if (req.headers['transfer-encoding'] !== undefined)
    return refuse(411, 'a body without a Content-Length is not taken here', 'send the length');
  if (lengthOf(req) <= MOUNT_BODY_BYTES) return undefined;
  return refuse(413, `the body is over ${MOUNT_BODY_BYTES} bytes`, 'send a smaller operation');
}

function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

/** Reads all but the end of a body, and puts it back in front of that. */
function arrived(req: IncomingMessage, length: number, share: Share): Promise<Held> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve) => {
    const settle = (held: Held) => {
      req.off('readable', onReadable).off('close', onClose);
      share.evicted.removeEventListener('abort', onEvicted);
      if (held.kind === 'here') req.unshift(Buffer.concat(chunks, size));
      resolve(held);
    };
    const onReadable = () => {
      for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = size < length ? req.read() : null) {
        size += chunk.length;
        if (!share.take(chunk.length)) return settle({ kind: 'refused', reply: busy('the request bodies take too much memory') });
        chunks.push(chunk);
      }
      if (size < length) return;
      share.arrived();
      settle({ kind: 'here' });
    };
    const onClose = () => settle({ kind: 'gone' });
    const onEvicted = () => settle({ kind: 'refused', reply: tooSlow() });
    req.on('readable', onReadable).once('close', onClose);
    share.evicted.addEventListener('abort', onEvicted);
  });
}
