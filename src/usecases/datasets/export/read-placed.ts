import { decode } from '../../../events/codec.ts';
import type { Trx } from '../../../postgres/database.ts';
import { unsealerOf } from '../../../postgres/stream-keys.ts';
import { readPlacedRecords } from '../../../projections/journal/read-bodies.ts';
import type { PlacedEvent } from './take-events.ts';

/** The events of a stream in the order of the log, and how many records of the journal this program cannot read. */
export interface PlacedStream {
  readonly events: readonly PlacedEvent[];
  readonly unreadable: number;
}

const NONE: PlacedStream = { events: [], unreadable: 0 };

/** Reads streams from the journal, each event at the place where it was appended and where it was released from a quarantine. */
export async function readPlaced(trx: Trx, streams: readonly string[]): Promise<(stream: string) => PlacedStream> {
  const found = new Map<string, { events: PlacedEvent[]; unreadable: number }>();
  const records = await readPlacedRecords(trx, streams);
  const unseal = await unsealerOf(
    trx,
    records.map(({ body }) => body),
  );
  for (const { stream, body, refused } of records) {
    const placed = found.get(stream) ?? { events: [], unreadable: 0 };
    found.set(stream, placed);
    const decoded = decode(Buffer.from(body, 'utf8'), unseal);
    if (decoded.kind === 'event') placed.events.push({ event: decoded.event, refused });
    else placed.unreadable += 1; // written before a rule of its schema was made: a fold of the log sets it aside
  }
  return (stream) => found.get(stream) ?? NONE;
}
