import { decode, type Refusal } from '../events/codec.ts';
import type { Delivery } from '../events/envelope.ts';
import type { LogBatch } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { unsealerOf } from '../postgres/stream-keys.ts';

/** A record of the log after decoding: a delivery, or bytes that are no event of the catalogue, with the reason. */
export type Item =
  | { readonly kind: 'event'; readonly delivery: Delivery }
  | {
      readonly kind: 'refused';
      readonly offset: number;
      readonly bytes: Uint8Array;
      readonly type: string | null;
      readonly refusal: Refusal;
    };

/** Decodes a batch once for all projections; sealed payload is opened by the keys of now. @throws KeyLost. */
export async function decodeRecords(db: Db, batch: LogBatch): Promise<readonly Item[]> {
  const unseal = await unsealerOf(
    db,
    batch.records.map(({ value }) => value),
  );
  let last = { ms: Number.NaN, iso: '' }; // most records of a batch were received in the same few milliseconds
  const isoOf = (ms: number): string => {
    if (ms !== last.ms) last = { ms, iso: new Date(ms).toISOString() };
    return last.iso;
  };
  return batch.records.map((record) => {
    const decoded = decode(record.value, unseal);
    if (decoded.kind === 'refused') {
      return {
        kind: 'refused',
        offset: record.offset,
        bytes: record.value,
        type: typeOf(record.value),
        refusal: decoded.refusal,
      };
    }
    const receivedAt = record.receivedAt === null ? null : isoOf(record.receivedAt);
    const body = Buffer.from(record.value.buffer, record.value.byteOffset, record.value.byteLength).toString('utf8');
    return {
      kind: 'event',
      delivery: { topic: batch.topic, partition: batch.partition, offset: record.offset, receivedAt, event: decoded.event, body },
    };
  });
}

/** The type a refused record claims, when it is JSON at all: it decides whose quarantine it goes to. */
function typeOf(bytes: Uint8Array): string | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' ? value.type : null;
  } catch {
    return null;
  }
}
