import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Reply, refuse } from '../reply.ts';
import type { Share } from './body-budget.ts';

export type Body =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly reply: Reply }
  | { readonly kind: 'gone' };

/**
 * Reads a body, inflating gzip. The bound is on the inflated bytes and is checked as they come out, so a bomb is met after one
 * chunk too many. Returns a refusal (400, 408, 413, 415, 429), or `gone` when the client went away before the end.
 */
export async function readBody(req: IncomingMessage, limit: number, share: Share): Promise<Body> {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase().trim();
  if (encoding !== 'gzip' && encoding !== 'identity') return refused(unknownEncoding(encoding));
  if (Number(req.headers['content-length'] ?? 0) > limit) return refused(tooLarge(limit));

  const gunzip = encoding === 'gzip' ? createGunzip() : undefined;
  const source: Readable = gunzip ? req.pipe(gunzip) : req;
  // `pipe` does not pass on that its source broke off; a request that ended well also closes.
  const onAbort = () => void (req.complete || gunzip?.destroy(new Error('the client went away')));
  req.once('close', onAbort);
  const chunks: AsyncIterator<Buffer> = source.iterator({ destroyOnReturn: false });
  const evicted = whenAborted(share.evicted);
  const kept = createPile();
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), evicted]);
      if (next === 'aborted') return refused(tooSlow());
      if (next.done) break;
      if (kept.size() + next.value.length > limit) return refused(tooLarge(limit));
      if (!share.take(next.value.length)) return refused(share.evicted.aborted ? tooSlow() : busy(FULL));
      kept.add(next.value);
    }
  } catch (error) {
    if (req.destroyed && !req.complete) return { kind: 'gone' };
    return refused(badGzip(error));
  } finally {
    // Behind a chunk that is still waited for this ends when that comes, or when the request is cut.
    void chunks.return?.().catch(() => undefined);
    req.off('close', onAbort);
    if (gunzip) req.unpipe(gunzip).resume();
    gunzip?.destroy();
  }
  if (!req.complete && !gunzip) return { kind: 'gone' };
  share.arrived();
  return { kind: 'body', bytes: kept.whole() };
}

const FULL = 'the request bodies take too much memory';
const FEW = 256; // chunks: one of a single byte takes some 600 bytes of memory

/** Collects chunks; small ones are joined on the way, so that a body in chunks of one byte takes about its own size. */
function createPile() {
  const joined: Buffer[] = [];
  let recent: Buffer[] = [];
  let size = 0;
  const join = () => {
    joined.push(Buffer.concat(recent));
    recent = [];
  };
  return {
    size: () => size,
    add(chunk: Buffer): void {
      size += chunk.length;
      recent.push(chunk);
      if (recent.length >= FEW) join();
    },
    whole: () => Buffer.concat([...joined, ...recent], size),
  };
}

function whenAborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted');
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
}

/** Answers 408: the body gave way to others. */
export function tooSlow(): Reply {
  return refuse(
    408,
    `the body arrived too slowly while ${FULL}`,
    'send it again after Retry-After seconds, at once or in smaller parts',
    {
      headers: { 'retry-after': '5' },
    },
  );
}

/** Answers 429: not now, come back in a second. */
export function busy(why: string): Reply {
  return refuse(429, why, 'send again after Retry-After seconds; a repeated event id is recognised', {
    headers: { 'retry-after': '1' },
  });
}

function refused(reply: Reply): Body {
  return { kind: 'refused', reply };
}

function unknownEncoding(encoding: string): Reply {
  return refuse(415, `Content-Encoding ${JSON.stringify(encoding.slice(0, 80))} is not taken`, 'send gzip or none', {
    headers: { 'accept-encoding': 'gzip' },
  });
}

function tooLarge(limit: number): Reply {
  return refuse(413, `the body is over ${limit} bytes (decompressed)`, 'send the events in smaller requests');
}

function badGzip(error: unknown): Reply {
  return refuse(
    400,
    `the body is not whole gzip: ${error instanceof Error ? error.message : String(error)}`,
    'compress it again, or send it plain',
  );
}
