import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Reply, refuse } from '../reply.ts';
import type { Ticket } from './gate.ts';

export type Body =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly reply: Reply }
  | { readonly kind: 'gone' };

/**
 * Reads a body, inflating gzip. The bound is on the inflated bytes and is checked as they come out, so a bomb is met after one chunk too
 * many. Gives a refusal (400, 413, 415, 429), or `gone` when the client went away before the end.
 */
export async function readBody(req: IncomingMessage, limit: number, ticket: Ticket): Promise<Body> {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase().trim();
  if (encoding !== 'gzip' && encoding !== 'identity') return refused(unknownEncoding(encoding));
  if (Number(req.headers['content-length'] ?? 0) > limit) return refused(tooLarge(limit));

  const gunzip = encoding === 'gzip' ? createGunzip() : undefined;
  const source: Readable = gunzip ? req.pipe(gunzip) : req;
  // `pipe` does not pass on that its source broke off; a request that ended well also closes.
  const onAbort = () => void (req.complete || gunzip?.destroy(new Error('the client went away')));
  req.once('close', onAbort);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) return refused(tooLarge(limit));
      if (!ticket.take(chunk.length)) return refused(busy('the bodies in hand take too much memory'));
      chunks.push(chunk);
    }
  } catch (error) {
    if (req.destroyed && !req.complete) return { kind: 'gone' };
    return refused(badGzip(error));
  } finally {
    req.off('close', onAbort);
    if (gunzip) req.unpipe(gunzip).resume();
    gunzip?.destroy();
  }
  return req.complete || gunzip ? { kind: 'body', bytes: Buffer.concat(chunks, size) } : { kind: 'gone' };
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
