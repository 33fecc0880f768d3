import type { LogRecord } from './event-log.ts';

/**
 * Chooses the partition of a key as every Kafka client in the Java tradition does: murmur2 of its UTF-8 bytes, sign bit
 * dropped, modulo the number of partitions. Both adapters use it, so a tree lies in the same partition of either, and our
 * producer knows the partition, hence the offset, of each record of a send.
 */
export function partitionForKey(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}

/**
 * Returns the partition of a record among those of its topic: the one it names, or that of its key. @throws RangeError when it
 * names one that is not there.
 */
export function partitionOf(
  { topic, key, partition }: Pick<LogRecord, 'topic' | 'key' | 'partition'>,
  partitions: number,
): number {
  if (partition === undefined) return partitionForKey(key, partitions);
  if (Number.isInteger(partition) && partition >= 0 && partition < partitions) return partition;
  throw new RangeError(`topic ${topic} has no partition ${partition}; it has ${partitions}`);
}

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** Hashes bytes as Kafka's `Utils.murmur2`. Returns a signed 32-bit integer. */
export function murmur2(data: Uint8Array): number {
  const length = data.length;
  const tail = length & ~3;
  let h = SEED ^ length;
  for (let i = 0; i < tail; i += 4) {
    const k = Math.imul(byte(data, i) | (byte(data, i + 1) << 8) | (byte(data, i + 2) << 16) | (byte(data, i + 3) << 24), M);
    h = Math.imul(h, M) ^ Math.imul(k ^ (k >>> 24), M);
  }
  if (tail < length) {
    for (let i = length - 1; i >= tail; i--) h ^= byte(data, i) << (8 * (i - tail));
    h = Math.imul(h, M);
  }
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}

function byte(data: Uint8Array, index: number): number {
  return data[index] ?? 0; // always inside: the loops above end at the length
}
