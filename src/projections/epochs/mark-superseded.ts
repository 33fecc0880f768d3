import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { tables } from '../../postgres/tables.ts';
import type { Item } from '../decode-records.ts';
import { isOf } from '../projection.ts';

/** A place behind which a stream takes nothing of collectors with a lower epoch. */
interface Fence {
  readonly stream: string;
  readonly offset: number;
  readonly epoch: number;
}

/**
 * Marks what has no effect among records of one partition, in offset order: events of a collector that come behind the event by
 * which a later one took over their stream (`RunResumed`, `TreeResumed`). The log decides, so that live, a rebuild and any order
 * of the partitions come to the same; what was released from quarantine takes effect, since an operator said so. The places of
 * those events and the marked records are kept: the journal notes the latter and has no place for them.
 */
export async function markSuperseded(
  db: Db,
  { topic, partition }: { readonly topic: string; readonly partition: number },
  items: readonly Item[],
): Promise<readonly Item[]> {
  const fences: Fence[] = [];
  const streams = new Set<string>();
  for (const item of items) {
    if (item.kind !== 'event') continue;
    const { event, offset } = item.delivery;
    if (isOf(item.delivery, 'RunResumed') || isOf(item.delivery, 'TreeResumed'))
      fences.push({ stream: event.stream, offset, epoch: item.delivery.event.data.epoch });
    if (event.epoch !== undefined && !event.released) streams.add(event.stream);
  }
  if (fences.length > 0) await keepFences(db, topic, partition, fences);
  if (streams.size === 0) return items;
  const before = await readFences(db, topic, partition, [...streams]);
  if (before.length + fences.length === 0) return items;
  const marked = items.map((item) => {
    if (item.kind !== 'event') return item;
    const supersededBy = epochBefore(item.delivery, before);
    return supersededBy === undefined ? item : { ...item, delivery: { ...item.delivery, supersededBy } };
  });
  await keepSuperseded(db, marked);
  return marked;
}

/** The epoch that took over an event's stream before it; undefined when the event takes effect. */
function epochBefore({ event, offset }: Delivery, fences: readonly Fence[]): number | undefined {
  const { epoch, stream, released } = event;
  if (epoch === undefined || released) return undefined;
  const above = fences.filter((fence) => fence.stream === stream && fence.offset < offset && fence.epoch > epoch);
  return above.length === 0 ? undefined : Math.max(...above.map((fence) => fence.epoch));
}

async function keepFences(db: Db, topic: string, partition: number, fences: readonly Fence[]): Promise<void> {
  await db.transaction().execute((trx) =>
    insertRows(
      trx,
      tables.streamEpochs,
      fences.map((fence) => ({ topic, partition, ...fence })),
    ),
  );
}

async function readFences(db: Db, topic: string, partition: number, streams: readonly string[]): Promise<readonly Fence[]> {
  const rows = await rowsWhere(db, 'streamEpochs', { topic, partition, stream: streams }, ['stream', 'offset', 'epoch']);
  return rows;
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
