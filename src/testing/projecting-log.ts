import { type Appender, createAppender } from '../append/appender.ts';
import { prepareEvents } from '../append/prepare-events.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { decode } from '../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import type { EventLog, LogRecord } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { givenEvents } from './given-events.ts';

/**
 * An appender whose events are projected into a test's database before its promise resolves; `appended` holds what went through.
 */
export function projectingAppender(db: Db, blobs: BlobStore): Appender & { readonly appended: readonly Envelope[] } {
  const appended: Envelope[] = [];
  const log: Pick<EventLog, 'append'> = {
    async append(records) {
      const events = records.map(eventOf);
      const first = appended.length;
      for (const each of events) appended.push(each);
      await givenEvents(db, events);
      return records.map(({ topic }, i) => ({ topic, partition: 0, offset: first + i }));
    },
  };
  const appender = createAppender({
    log: log as EventLog, // an appender calls nothing but `append`
    blobs,
    stamp: DEFAULT_STAMP,
    producer: { name: 'test-import', version: '1' },
    clock: () => Date.UTC(2026, 5, 1),
  });
  return { append: (drafts) => appender.append(drafts), appended };
}

/** Appends events as they are, long payloads going to the blob store, and projects them. */
export async function givenPrepared(db: Db, events: readonly Envelope[], blobs: BlobStore): Promise<void> {
  await givenEvents(db, (await prepareEvents(events, blobs, DEFAULT_STAMP)).map(eventOf));
}

function eventOf({ value }: LogRecord): Envelope {
  const decoded = decode(value);
  if (decoded.kind === 'refused') throw new Error(`appended an event that does not decode: ${decoded.refusal.message}`);
  return decoded.event;
}
