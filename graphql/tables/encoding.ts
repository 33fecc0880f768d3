import { pipeline, Readable } from 'node:stream';
import zlib from 'node:zlib';

/** How the body of a table is sent. zstd where this version of Node has it (22.15), and it is a third of the work of gzip. */
export type Encoding = 'zstd' | 'gzip' | 'identity';

const HAS_ZSTD = 'createZstdCompress' in zlib;

/** Chooses among what a client accepts (RFC 9110 §12.5.3); what it does not name is not sent. */
export function encodingFor(accepted: string | null, zstd: boolean = HAS_ZSTD): Encoding {
  const named = new Set(
    (accepted ?? '').split(',').flatMap((part) => {
      const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
      return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
    }),
  );
  if (zstd && named.has('zstd')) return 'zstd';
  return named.has('gzip') ? 'gzip' : 'identity';
}

/**
 * Compresses what is read, at the fastest level: a table is read once. Every part, which is a whole record batch, is flushed, so
 * that a client whose connection breaks has all batches that were sent.
 */
export function compressed(parts: Readable, encoding: Encoding): ReadableStream<Uint8Array> {
  const web = (readable: Readable) => Readable.toWeb(readable) as unknown as ReadableStream<Uint8Array>; // Node's type of the same
  if (encoding === 'identity') return web(parts);
  return web(pipeline(parts, compressor(encoding), () => undefined)); // an error ends the reader
}

function compressor(encoding: 'zstd' | 'gzip') {
  const { constants } = zlib;
  if (encoding === 'gzip') return zlib.createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH });
  const { createZstdCompress } = zlib as unknown as { createZstdCompress(options: object): zlib.Gzip }; // newer than our types
  const { ZSTD_e_flush } = constants as unknown as { readonly ZSTD_e_flush: number };
  return createZstdCompress({ flush: ZSTD_e_flush });
}
