import { sql } from 'kysely';
import { largest } from '../../domain/extremes.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { tables } from '../../postgres/tables.ts';
import { isOf } from '../projection.ts';
import type { Item, Slice } from '../slice.ts';

/** A place behind which a stream takes nothing of collectors with a lower epoch. */
interface Fence {
  readonly topic: string;
  readonly partition: number;
  readonly stream: string;
  readonly offset: number;
  readonly epoch: number;
}

/**
 * Marks what has no effect among the records of slices, each in offset order: events of a collector that come behind the event by
 * which a later one took over their stream (`RunResumed`, `TreeResumed`). The log decides, so that live, a rebuild and any order
 * of the partitions come to the same; what was requeued from quarantine takes effect, since an operator said so. The places of
 * those events and the marked records are kept: the journal notes the latter and has no place for them.
 */
export async function markSuperseded<S extends Slice>(db: Db, slices: readonly S[]): Promise<readonly S[]> {
  const fences = slices.flatMap(fencesIn);
  const streams = new Set(slices.flatMap(streamsOfEpochs));
  if (fences.length > 0) await keepFences(db, fences);
  if (streams.size === 0) return slices;
  const known = await readFences(db, [...streams]);
  if (known.length === 0) return slices;
  const marked = slices.map((slice) => {
    const before = known.filter(({ topic, partition }) => topic === slice.topic && partition === slice.partition);
    return before.length === 0 ? slice : { ...slice, items: slice.items.map((item) => marking(item, before)) };
  });
  await keepSuperseded(
    db,
    marked.flatMap(({ items }) => items),
  );
  return marked;
}

function fencesIn({ topic, partition, items }: Slice): readonly Fence[] {
  return items.flatMap((item) => {
    if (item.kind !== 'event') return [];
    const { delivery } = item;
    if (!isOf(delivery, 'RunResumed') && !isOf(delivery, 'TreeResumed')) return [];
    const { stream, data } = delivery.event;
    return [{ topic, partition, stream, offset: delivery.offset, epoch: data.epoch }];
  });
}

function streamsOfEpochs({ items }: Slice): readonly string[] {
  return items.flatMap((item) => {
    if (item.kind !== 'event') return [];
    const { epoch, released: requeued, stream } = item.delivery.event;
    return epoch !== undefined && !requeued ? [stream] : [];
  });
}

function marking(item: Item, before: readonly Fence[]): Item {
  if (item.kind !== 'event') return item;
  const supersededBy = epochBefore(item.delivery, before);
  return supersededBy === undefined ? item : { ...item, delivery: { ...item.delivery, supersededBy } };
}

/** The epoch that took over an event's stream before it; undefined when the event takes effect. */
function epochBefore({ event, offset }: Delivery, fences: readonly Fence[]): number | undefined {
  const { epoch, stream, released: requeued } = event;
  if (epoch === undefined || requeued) return undefined;
  const above = fences.filter((fence) => fence.stream === stream && fence.offset < offset && fence.epoch > epoch);
  return above.length === 0 ? undefined : largest(above.map((fence) => fence.epoch));
}

async function keepFences(db: Db, fences: readonly Fence[]): Promise<void> {
  await db.transaction().execute((trx) => insertRows(trx, tables.streamEpochs, fences));
}

function readFences(db: Db, streams: readonly string[]): Promise<readonly Fence[]> {
  return rowsWhere(db, 'streamEpochs', { stream: streams }, ['topic', 'partition', 'stream', 'offset', 'epoch']);
}

async function keepSuperseded(db: Db, items: readonly Item[]): Promise<void> {
  const rows = items.flatMap((item) => {
    if (item.kind !== 'event' || item.delivery.supersededBy === undefined) return [];
    const { topic, partition, offset, event, body, supersededBy: byEpoch } = item.delivery;
    const { id: eventId, type, stream, epoch = 0 } = event;
    return [{ topic, partition, offset, eventId, type, stream, epoch, byEpoch, body }];
  });
  if (rows.length > 0) await db.transaction().execute((trx) => insertRows(trx, tables.superseded, rows));
}

/** The highest epoch that the record holds for a run; 0 when no collector ever took it over. */
export async function readRecordedEpoch(db: Db, runId: string): Promise<number> {
  const { rows } = await sql<{ epoch: number | null }>`
    select max(epoch) as epoch from stream_epochs where stream = ${runId}::uuid`.execute(db);
  return rows[0]?.epoch ?? 0;
}
