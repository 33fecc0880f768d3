import { sha256Bytes } from '../../digest/sha256.ts';

/** What the first record of a partition follows. */
export const CHAIN_START: Uint8Array = new Uint8Array(32);
export const DIGEST_BYTES = 32;

/**
 * Returns the digest of a record: the SHA-256 of the digest before it, its offset (64 bits, big-endian) and its body in UTF-8
 * (given as text or as these bytes).
 */
export function chainDigest(before: Uint8Array, offset: number, body: string | Uint8Array): Uint8Array {
  const place = Buffer.alloc(8);
  place.writeBigUInt64BE(BigInt(offset));
  return sha256Bytes(before, place, body);
}
