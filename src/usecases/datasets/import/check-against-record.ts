import type { Draft } from '../../../append/appender.ts';
import { EventRefused, prepareEvents } from '../../../append/prepare-events.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { sha256Hex } from '../../../digest/sha256.ts';
import { catalogue } from '../../../events/catalogue.ts';
import { clearHash, contentHash } from '../../../events/codec.ts';
import { DEFAULT_STAMP, type Envelope, identityOf } from '../../../events/envelope.ts';
import { streamOf, streamTaken } from '../../../events/stream-of.ts';
import type { Db } from '../../../postgres/database.ts';
import { readSuperseded } from '../../../projections/epochs/read-superseded.ts';
import { findJournalEntries, type JournalEntry, uniqueKeysOf } from '../../../projections/journal/journal-entries.ts';
import { readStreamTopics } from '../../../projections/journal/read-stream-topics.ts';
import { DatasetError } from '../dataset-error.ts';
import type { CarriedBlob } from '../event-line.ts';
import { badRow } from './read-rows.ts';

/**
 * Compares drafts with the record: returns those it does not hold yet. Each draft is prepared as an append would, blobs hashed
 * but not stored, so that what passes here is not refused later, half-way. @param homes the topic of each stream of the file so
 * far, which is added to.
 * @throws DatasetError `bad-row`; `conflict` when an id names another fact, a stream of another topic, or a fact that the
 * record holds without effect.
 */
export async function newToRecord(
  db: Db,
  path: string,
  drafts: readonly LinedDraft[],
  homes: Map<string, string>,
): Promise<readonly LinedDraft[]> {
  const events: Envelope[] = [];
  for (const lined of drafts) events.push(await prepared(path, lined));
  const journalled = await findJournalEntries(db, events);
  const topics = await readStreamTopics(
    db,
    events.map(({ stream }) => stream),
  );
  const superseded = await readSuperseded(db, events);
  const fresh: LinedDraft[] = [];
  for (const [i, lined] of drafts.entries()) {
    const event = events[i] as Envelope; // one of each draft
    const { topic } = catalogue[event.type];
    const home = homes.get(event.stream) ?? topics.get(event.stream) ?? topic;
    if (home !== topic) throw misplaced(path, lined, streamTaken(event.stream, home, topic).message);
    homes.set(event.stream, home);
    const recorded = uniqueKeysOf(event).flatMap((key) => journalled.get(key) ?? [])[0];
    if (recorded === undefined) {
      if (superseded.has(identityOf(event))) throw withoutEffect(path, lined);
      fresh.push(lined);
    } else if (recorded.hash !== (recorded.forgotten ? clearHash(event) : contentHash(event)))
      throw conflict(path, lined, recorded);
  }
  return fresh;
}

async function prepared(path: string, { line, file = path, draft }: LinedDraft): Promise<Envelope> {
  const event = await preparedEvent(draft);
  if (event instanceof Error) throw badRow(file, line, event.message, event);
  return event;
}

/** Returns a draft as an append would prepare it, or why its schema refuses it. */
export async function preparedEvent(draft: LinedDraft['draft']): Promise<Envelope | EventRefused> {
  try {
    const [record] = await prepareEvents([envelopeOf(draft)], hashOnly, DEFAULT_STAMP);
    if (!record) throw new Error('one event makes one record');
    return record.event;
  } catch (error) {
    if (error instanceof EventRefused) return error;
    throw error;
  }
}

/** The envelope an appender would make, but for what it numbers itself. */
function envelopeOf(draft: LinedDraft['draft']): Envelope {
  return {
    id: draft.id,
    type: draft.type,
    schemaVersion: catalogue[draft.type].version,
    stream: streamOf(draft.type, draft.data),
    sequence: 0,
    occurredAt: draft.occurredAt ?? '1970-01-01T00:00:00.000Z',
    correlationId: draft.correlationId,
    causationId: draft.causationId ?? null,
    producer: { name: 'import', version: '1' },
    data: draft.data,
  } as Envelope; // checked against the schema by prepareEvents
}

function conflict(path: string, { line, file = path, draft }: LinedDraft, { eventId }: JournalEntry): DatasetError {
  const named =
    draft.id === eventId
      ? `under the id ${eventId}`
      : `of the same entity: event ${eventId} states it otherwise than ${draft.id}`;
  return new DatasetError(
    'conflict',
    `${file} line ${line}: the record holds another ${draft.type} ${named}; nothing was imported. Import into an empty record, or find out which of the two was changed`,
  );
}

function withoutEffect(path: string, { line, file = path, draft }: LinedDraft): DatasetError {
  return new DatasetError(
    'conflict',
    `${file} line ${line}: the record holds ${draft.type} ${draft.id} without effect: its collector appended it after a later one had taken over the run; nothing was imported. Take it out of the file, or import into another record`,
  );
}

function misplaced(path: string, { line, file = path, draft }: LinedDraft, reason: string): DatasetError {
  return new DatasetError(
    'conflict',
    `${file} line ${line}: ${draft.type}: ${reason}; nothing was imported. Give each its own id`,
  );
}

const hashOnly: BlobStore = {
  async put(bytes, mediaType) {
    return { blob: sha256Hex(bytes), size: bytes.length, mediaType };
  },
  get: () => Promise.reject(new Error('a dry run stores nothing')),
  has: async () => false,
};

/** An event to append, with the line of the file it comes from. Its id is of the file or its content, never fresh. */
export interface LinedDraft {
  readonly line: number;
  /** The file, where an import reads several. */
  readonly file?: string;
  readonly draft: Draft & { readonly id: string };
  /** Payloads that the file brings before this event. */
  readonly blobs?: readonly CarriedBlob[];
}

const CHUNK = 500; // drafts per look-up and append: 500–1,000 is flat for both
const CHUNK_TEXT = 4 * 1024 * 1024; // characters of text in them: one draft may hold more, and then goes alone

/** Groups drafts for one look-up and one append, bounded by number and by text. */
export async function* chunkDrafts(
  drafts: AsyncIterable<LinedDraft> | Iterable<LinedDraft>,
): AsyncGenerator<readonly LinedDraft[]> {
  let chunk: LinedDraft[] = [];
  let text = 0;
  for await (const lined of drafts) {
    chunk.push(lined);
    for (const value of Object.values(lined.draft.data)) if (typeof value === 'string') text += value.length;
    for (const { bytes } of lined.blobs ?? []) text += bytes.length;
    if (chunk.length < CHUNK && text < CHUNK_TEXT) continue;
    yield chunk;
    chunk = [];
    text = 0;
  }
  if (chunk.length > 0) yield chunk;
}
