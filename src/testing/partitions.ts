import { sql } from 'kysely';
import { catalogue } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import type { StoredRecord } from '../log/event-log.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import type { Db } from '../postgres/database.ts';
import { applySlice } from '../projections/apply-slices.ts';
import { topicsOf } from '../projections/concerns.ts';
import { decodeRecords } from '../projections/decode-records.ts';
import { markRepeated } from '../projections/journal/mark-repeated.ts';
import type { Projection } from '../projections/projection.ts';
import type { Slice } from '../projections/slice.ts';
import { readModels } from './read-models.ts';

/** A partition of a log as it would hold some events. */
export interface Partition {
  readonly topic: string;
  readonly partition: number;
  readonly records: StoredRecord[];
}

/** Lays events out in partitions, as a log does. */
export function partitionsOf(count: number, events: readonly Envelope[]): readonly Partition[] {
  const partitions = new Map<string, Partition>();
  for (const event of events) {
    const { topic } = catalogue[event.type];
    const partition = partitionForKey(event.stream, count);
    const place = partitions.get(`${topic}.${partition}`) ?? { topic, partition, records: [] };
    partitions.set(`${topic}.${partition}`, place);
    place.records.push({ offset: place.records.length, receivedAt: null, key: event.stream, value: encode(event) });
  }
  return [...partitions.values()];
}

/** Decodes the records of a partition from an offset up to another. */
export async function sliceOf(db: Db, { topic, partition, records }: Partition, from: number, next: number): Promise<Slice> {
  const place = { topic, partition, from, next };
  const slice = { ...place, items: await decodeRecords(db, { ...place, records: records.slice(from, next) }) };
  return (await markRepeated(db, [slice]))[0] ?? slice;
}

/** Folds each partition alone, as one slice, into every projection that reads its topic: what other orders are compared with. */
export async function foldEachAlone(db: Db, projections: readonly Projection[], partitions: readonly Partition[]): Promise<void> {
  for (const partition of partitions)
    for (const projection of projections)
      if (topicsOf(projection).includes(partition.topic))
        await applySlice(db, projection, await sliceOf(db, partition, 0, partition.records.length));
}

/** What the database holds of an order of application, the cursors included. */
export async function foldedState(db: Db): Promise<unknown> {
  const rows = (query: string) => sql.raw<object>(query).execute(db);
  const cursors = await rows('select projection, topic, partition, next_offset from cursors order by 1, 2, 3');
  const waiting = await rows('select projection, topic, partition, "offset", code, field from quarantine order by 1, 2, 3, 4');
  return { models: await readModels(db), cursors: cursors.rows, waiting: waiting.rows };
}
