import { sha256Bytes } from '../../digest/sha256.ts';

/** What the first record of a partition follows. */
export const CHAIN_START: Uint8Array = new Uint8Array(32);
export const DIGEST_BYTES = 32;

let whole = Buffer.allocUnsafeSlow(65_536); // what is hashed, in one piece: a hash of parts takes three calls

/**
 * Returns the digest of a record: the SHA-256 of the digest before it, its offset (64 bits, big-endian) and its body in UTF-8
 * (given as text or as these bytes).
 */
export function chainDigest(before: Uint8Array, offset: number, body: string | Uint8Array): Uint8Array {
  const size = DIGEST_BYTES + 8 + (typeof body === 'string' ? 3 * body.length : body.byteLength);
  if (size > whole.length) whole = Buffer.allocUnsafeSlow(2 * size);
  whole.set(before);
  whole.writeUInt32BE(Math.floor(offset / 2 ** 32), DIGEST_BYTES);
  whole.writeUInt32BE(offset % 2 ** 32, DIGEST_BYTES + 4);
  const start = DIGEST_BYTES + 8;
  if (typeof body === 'string') return sha256Bytes(whole.subarray(0, start + whole.write(body, start)));
  whole.set(body, start);
  return sha256Bytes(whole.subarray(0, start + body.byteLength));
}
