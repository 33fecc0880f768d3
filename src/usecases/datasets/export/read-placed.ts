import { sql } from 'kysely';
import { decode } from '../../../events/codec.ts';
import type { Trx } from '../../../postgres/database.ts';
import { DatasetError } from '../dataset-error.ts';
import type { PlacedEvent } from './take-events.ts';

/** The events of a stream in the order of the log, and how many records of the journal this program cannot read. */
export interface PlacedStream {
  readonly events: readonly PlacedEvent[];
  readonly unreadable: number;
}

interface Row {
  readonly stream: string;
  readonly body: string;
  readonly refused: boolean;
  /** A read model has it by a release that no record of the log tells. */
  readonly unrecorded: boolean;
}

const NONE: PlacedStream = { events: [], unreadable: 0 };

/** Reads streams from the journal, each event at the place where it was appended and where it was released from a quarantine. */
export async function readPlaced(trx: Trx, streams: readonly string[]): Promise<(stream: string) => PlacedStream> {
  const found = new Map<string, { events: PlacedEvent[]; unreadable: number }>();
  for (const { stream, body, refused, unrecorded } of await readRows(trx, streams)) {
    if (unrecorded) throw unrecordedRelease(stream);
    const placed = found.get(stream) ?? { events: [], unreadable: 0 };
    found.set(stream, placed);
    const decoded = decode(Buffer.from(body, 'utf8'));
    if (decoded.kind === 'event') placed.events.push({ event: decoded.event, refused });
    else placed.unreadable += 1; // written before a rule of its schema was made: a fold of the log sets it aside
  }
  return (stream) => found.get(stream) ?? NONE;
}

async function readRows(trx: Trx, streams: readonly string[]): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select p.stream, p.body, coalesce(q.refused, false) as refused, coalesce(q.unrecorded, false) as unrecorded
    from (
      select e.stream, e.topic, e.partition, e."offset", e.body from events e where e.stream = any(${[...streams]}::uuid[])
      union all
      select e.stream, r.topic, r.partition, r."offset", e.body
      from quarantine_releases r join events e using (event_id)
      where r.stream = any(${[...streams]}::uuid[]) and (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset")
    ) p
    left join (
      select topic, partition, "offset", bool_or(released_at is null or released_offset is not null) as refused,
             bool_or(released_at is not null and released_offset is null and event_id is not null) as unrecorded
      from quarantine where stream = any(${[...streams]}::text[]) and projection in (select name from projections)
      group by topic, partition, "offset"
    ) q using (topic, partition, "offset")
    order by p.stream, topic, partition, "offset"`.execute(trx);
  return rows;
}

function unrecordedRelease(stream: string): DatasetError {
  return new DatasetError(
    'unrecorded-release',
    `an event of the stream ${stream} was released from quarantine by an earlier version, which kept that in the database and not in the log: where it takes effect is not known; \`espalier quarantine record-releases\` appends it, then export again`,
  );
}
