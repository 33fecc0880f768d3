import { decodeText, textOf, type Unseal } from '../events/codec.ts';
import type { LogBatch } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { unsealerOf } from '../postgres/stream-keys.ts';
import type { Item, Slice } from './slice.ts';

const UTF8_BOM = 0xef; // the first byte of a mark of the byte order, which is kept with the record

/** Decodes a batch once for all projections; sealed payload is opened by the keys of now. @throws KeyLost. */
export async function decodeRecords(db: Db, batch: LogBatch): Promise<readonly Item[]> {
  return decodeBatch(batch, await unsealerOf(db, valuesOf(batch)));
}

/** Decodes batches of several partitions, whose keys are read together. @throws KeyLost. */
export async function readSlices(db: Db, batches: readonly LogBatch[]): Promise<readonly Slice[]> {
  const unseal = await unsealerOf(db, batches.flatMap(valuesOf));
  return batches.map((batch) => {
    const { topic, partition, from, next } = batch;
    return { topic, partition, from, next, items: decodeBatch(batch, unseal) };
  });
}

function valuesOf({ records }: LogBatch): readonly Uint8Array[] {
  return records.map(({ value }) => value);
}

function decodeBatch(batch: LogBatch, unseal: Unseal): readonly Item[] {
  let last = { ms: Number.NaN, iso: '' }; // most records of a batch were received in the same few milliseconds
  const isoOf = (ms: number): string => {
    if (ms !== last.ms) last = { ms, iso: new Date(ms).toISOString() };
    return last.iso;
  };
  return batch.records.map((record) => {
    const text = textOf(record.value);
    const decoded = typeof text === 'string' ? decodeText(text, unseal) : text;
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
    const body = typeof text === 'string' && record.value[0] !== UTF8_BOM ? text : Buffer.from(record.value).toString('utf8');
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
