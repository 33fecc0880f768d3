import { type RawBuilder, sql } from 'kysely';
import { catalogue, isEventType } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import { entityOf } from '../../events/entity-of.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';

/** An event as the journal holds it; the chain speaks for `offset`, `eventId` and `body`. */
export interface JournalRow {
  readonly offset: number;
  readonly eventId: string;
  readonly type: string;
  readonly stream: string;
  readonly entityId: string | null;
  readonly sequence: number;
  readonly producer: string;
  readonly correlationId: string;
  /** Seconds since 1970 as text, to the microsecond: a Date would round away what was changed below the millisecond. */
  readonly occurredAt: string;
  readonly body: string;
}

const NO_TEXT = '22021'; // bytes that are no UTF-8

/** Reads what the journal holds behind `from` up to `to`. A body that is no text any more is ''. */
export async function readRows(
  db: Db,
  topic: string,
  partition: number,
  from: number,
  to: number,
): Promise<Map<number, JournalRow>> {
  const read = async (body: RawBuilder<unknown>) => {
    const { rows } = await sql<JournalRow>`
    select "offset", event_id, type, stream, entity_id, sequence, producer, correlation_id,
           extract(epoch from occurred_at)::text as occurred_at, ${body} as body
    from events
    where topic = ${topic} and partition = ${partition} and "offset" > ${from} and "offset" <= ${to}
    order by "offset"`.execute(db);
    return new Map(rows.map((row) => [row.offset, row]));
  };
  try {
    return await read(sql`coalesce(body, '')`);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== NO_TEXT) throw error;
    if (to - from === 1) return read(sql`''`);
    const middle = Math.floor((from + to) / 2); // one of the log in this database was damaged: find it
    return new Map([
      ...(await readRows(db, topic, partition, from, middle)),
      ...(await readRows(db, topic, partition, middle, to)),
    ]);
  }
}

/** Names the columns of a row that its body contradicts. `position` is not in the body: it follows from the order of the log. */
export function mismatchedColumns(row: JournalRow): readonly string[] {
  const said = eventOf(row.body);
  if (!said) return ['body'];
  return [
    ...(said.id === row.eventId ? [] : ['event_id']),
    ...(said.type === row.type ? [] : ['type']),
    ...(said.stream === row.stream ? [] : ['stream']),
    ...(entityIdOf(said) === row.entityId ? [] : ['entity_id']),
    ...(said.sequence === row.sequence ? [] : ['sequence']),
    ...(said.producer?.name === row.producer ? [] : ['producer']),
    ...(said.correlationId === row.correlationId ? [] : ['correlation_id']),
    ...(`${(Date.parse(said.occurredAt ?? '') / 1000).toFixed(3)}000` === row.occurredAt ? [] : ['occurred_at']),
  ];
}

function entityIdOf(said: Said): string | null {
  const isEvent = said.type !== undefined && isEventType(said.type) && typeof said.data === 'object' && said.data !== null;
  return isEvent ? (entityOf(said as Envelope)?.id ?? null) : null; // reads ids only, which are never sealed
}

interface Said {
  readonly id?: string;
  readonly type?: string;
  readonly schemaVersion?: number;
  readonly stream?: string;
  readonly sequence?: number;
  readonly occurredAt?: string;
  readonly correlationId?: string;
  readonly producer?: { readonly name?: string };
  readonly data?: unknown;
}

/**
 * Reads the metadata of a body. The journal's columns are those of the current version: only an older one takes the whole way of
 * decoding.
 */
function eventOf(body: string): Said | undefined {
  let said: Said | null;
  try {
    said = JSON.parse(body) as Said | null; // every field is compared with a value of its type
  } catch {
    return undefined;
  }
  if (typeof said !== 'object' || said === null) return undefined;
  if (typeof said.type !== 'string' || !isEventType(said.type) || said.schemaVersion === catalogue[said.type].version)
    return said;
  const decoded = decode(Buffer.from(body));
  return decoded.kind === 'event' ? decoded.event : said;
}
