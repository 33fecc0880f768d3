import type { Offsets } from '../../src/log/event-log.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Notices } from '../../src/postgres/notices.ts';
import { type JournalRecord, readTail, type TailFilter } from '../../src/projections/journal/read-events.ts';

/** An event of the journal and the position just after it: every event up to it and none after it is seen. */
export interface TailItem {
  readonly record: JournalRecord;
  readonly position: Offsets;
}

const SLICE = 64; // events of one partition in one read: bodies reach 1 MiB, and a slow reader's share waits in memory
const POLL_MS = 1_000; // the net below lost notices; a notice wakes at once

/**
 * Follows the journal from a position, without gap or repeat. Reads the next slice only when the one before is handed on, so a
 * slow reader costs one slice. Ends when the iterator is returned or the signal aborts, also in the middle of a wait.
 */
export function tail(
  db: Db,
  notices: Pick<Notices, 'count' | 'beyond'>,
  from: Offsets,
  filter: TailFilter,
  signal: AbortSignal,
): AsyncIterableIterator<TailItem, undefined> {
  const left = new AbortController();
  const items = follow(db, notices, from, filter, AbortSignal.any([signal, left.signal]));
  const end = { done: true, value: undefined } as const;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => items.next(),
    // A generator that waits answers `return` only after its wait; the controller ends the wait.
    async return() {
      left.abort();
      await items.return(undefined);
      return end;
    },
    async throw(error) {
      left.abort();
      await items.return(undefined);
      throw error;
    },
  };
}

async function* follow(
  db: Db,
  notices: Pick<Notices, 'count' | 'beyond'>,
  from: Offsets,
  filter: TailFilter,
  signal: AbortSignal,
): AsyncGenerator<TailItem, undefined> {
  const place = new Map([...from].map(([topic, partitions]) => [topic, new Map(partitions)]));
  while (!signal.aborted) {
    const { count } = notices; // before the look, so that an event after it wakes us
    const { records, ends } = await readTail(db, place, filter, SLICE);
    const cut = new Map<string, number>();
    for (const record of records) {
      advance(place, record.topic, record.partition, record.offset + 1);
      yield { record, position: copy(place) };
      const key = `${record.topic}.${record.partition}`;
      cut.set(key, (cut.get(key) ?? 0) + 1);
      if (signal.aborted) return undefined;
    }
    let more = false;
    for (const [topic, partitions] of ends) {
      for (const [partition, end] of partitions) {
        // A full slice may have left events below the end; any other has shown all that match, so the rest need not be looked at
        // again.
        if (cut.get(`${topic}.${partition}`) === SLICE) more = true;
        else advance(place, topic, partition, end);
      }
    }
    if (!more) await notices.beyond(count, POLL_MS, signal);
  }
  return undefined;
}

/** Moves forward only: a journal that was set back (an older database) is behind the reader until it has caught up. */
function advance(place: Map<string, Map<number, number>>, topic: string, partition: number, next: number): void {
  const partitions = place.get(topic) ?? new Map<number, number>();
  place.set(topic, partitions.set(partition, Math.max(partitions.get(partition) ?? 0, next)));
}

function copy(place: Offsets): Offsets {
  return new Map([...place].map(([topic, partitions]) => [topic, new Map(partitions)]));
}
