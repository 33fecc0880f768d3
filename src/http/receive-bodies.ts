import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused, type Reply, refuse } from './reply.ts';

/** Bounds the bytes of all bodies that are received or processed together. */
export interface BodyBudget {
  /** Accounts for more bytes; false where all together would hold too many. */
  take(bytes: number): boolean;
  free(bytes: number): void;
}

export function createBodyBudget(limit: number): BodyBudget {
  let left = limit;
  return {
    take(bytes) {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
    free(bytes) {
      left += bytes;
    },
  };
}

/**
 * Has the bodies of endpoints received by the framework, as bytes, within the limit of their route and the budget that their rule
 * shares with others, and gzip inflated. Bytes count against the budget until the request is answered.
 */
export function receiveBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('preParsing', (request, { raw: res }, payload, done) => {
    const { body: rule } = request.routeOptions.config;
    if (!rule) return done(null, unread(request.headers)); // where no body belongs none is kept; `send` drains it
    const encoding = (request.headers['content-encoding'] ?? 'identity').toLowerCase().trim();
    const refused = rule.refuse?.(request.headers) ?? refuseEncoding(encoding);
    if (refused) return done(new Refused(refused));
    const counted = countBytes(rule.budget, res);
    payload.on('error', (error) => counted.destroy(error)); // the client went away
    if (encoding === 'identity') return done(null, payload.pipe(counted));
    const gunzip = createGunzip().on('error', (error) => counted.destroy(error));
    // What the framework compares with Content-Length.
    Object.defineProperty(counted, 'receivedEncodedLength', { get: () => gunzip.bytesWritten });
    return done(null, payload.pipe(gunzip).pipe(counted));
  });
}

/** An empty stream that the framework takes for the body that the headers announce. */
function unread({ 'content-length': length }: IncomingHttpHeaders): Readable {
  return Object.defineProperty(Readable.from([]), 'receivedEncodedLength', { value: Number(length ?? 0) });
}

const CHUNK_BYTES = 512; // what a chunk takes in memory besides its bytes: bodies may come in chunks of one

function countBytes(budget: BodyBudget, res: ServerResponse): Transform {
  let taken = 0;
  res.once('close', () => {
    budget.free(taken);
    counted.destroy(); // what is still inflated counts nowhere
  });
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      const bytes = chunk.length + CHUNK_BYTES;
      if (!budget.take(bytes)) return next(new Refused(busy('the request bodies take too much memory')));
      taken += bytes;
      next(null, chunk);
    },
  });
  return counted.on('error', () => undefined); // the framework listens until it has refused the body
}

/** Returns the refusal that an error of receiving a body means; undefined for any other error. */
export function refusedBody(error: unknown, { routeOptions, headers }: FastifyRequest): Reply | undefined {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }; // of the framework or of zlib
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse(413, `the body is over ${routeOptions.bodyLimit} bytes (decompressed)`, 'send less in one request');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse(400, 'the body has another length than Content-Length says', 'send the length of the body as it is sent');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE': {
      const type = JSON.stringify((headers['content-type'] ?? '').slice(0, 100));
      return refuse(415, `Content-Type ${type} cannot be read`, 'send the media type of the body');
    }
    default:
      if (typeof code !== 'string' || !code.startsWith('Z_')) return undefined;
      return refuse(400, `the body is not whole gzip: ${message}`, 'compress it again, or send it plain');
  }
}

/** Answers 429: not now, come back in a second. */
export function busy(why: string): Reply {
  return refuse(429, why, 'send again after Retry-After seconds; a repeated event id is recognised', {
    headers: { 'retry-after': '1' },
  });
}

function refuseEncoding(encoding: string): Reply | undefined {
  if (encoding === 'gzip' || encoding === 'identity') return undefined;
  return refuse(415, `Content-Encoding ${JSON.stringify(encoding.slice(0, 80))} is not taken`, 'send gzip or none', {
    headers: { 'accept-encoding': 'gzip' },
  });
}
