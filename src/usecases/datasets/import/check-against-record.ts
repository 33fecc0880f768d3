import { EventRefused, prepareEvents } from '../../../append/prepare-events.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { sha256Hex } from '../../../digest/sha256.ts';
import { isUuid } from '../../../domain/ids.ts';
import { catalogue } from '../../../events/catalogue.ts';
import { type Decoded, decode, sameContent } from '../../../events/codec.ts';
import { DEFAULT_STAMP, type Envelope, identityOf } from '../../../events/envelope.ts';
import { streamOf, streamTaken } from '../../../events/stream-of.ts';
import type { Db } from '../../../postgres/database.ts';
import { unsealerOf } from '../../../postgres/stream-keys.ts';
import { readSuperseded } from '../../../projections/epochs/read-superseded.ts';
import { readBodiesOf } from '../../../projections/journal/read-bodies.ts';
import { readStreamTopics } from '../../../projections/journal/read-stream-topics.ts';
import { DatasetError } from '../dataset-error.ts';
import type { LinedDraft } from './lined-draft.ts';
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
  const streams = drafts.map(({ draft }) => streamOf(draft.type, draft.data) ?? ''); // the schema refuses what is none
  const asked = drafts.map(({ draft }, i) => ({ id: draft.id, stream: streams[i] ?? '' }));
  const bodies = await readBodiesOf(
    db,
    asked.filter(({ stream }) => isUuid(stream)),
  );
  const unseal = await unsealerOf(db, bodies.values());
  const journalled = await readStreamTopics(db, streams.filter(isUuid));
  const superseded = await readSuperseded(
    db,
    asked.filter(({ stream }) => isUuid(stream)),
  );
  const fresh: LinedDraft[] = [];
  for (const lined of drafts) {
    const event = await prepared(path, lined);
    const { topic } = catalogue[event.type];
    const home = homes.get(event.stream) ?? journalled.get(event.stream) ?? topic;
    if (home !== topic) throw misplaced(path, lined, streamTaken(event.stream, home, topic).message);
    homes.set(event.stream, home);
    const body = bodies.get(identityOf(event));
    if (body === undefined) {
      if (superseded.has(identityOf(event))) throw withoutEffect(path, lined);
      fresh.push(lined);
    } else if (!sameEvent(decode(Buffer.from(body, 'utf8'), unseal), event)) throw conflict(path, lined);
  }
  return fresh;
}

async function prepared(path: string, { line, file = path, draft }: LinedDraft): Promise<Envelope> {
  try {
    const [record] = await prepareEvents([envelopeOf(draft)], hashOnly, DEFAULT_STAMP);
    const decoded = record && decode(record.value);
    if (decoded?.kind === 'event') return decoded.event;
    throw badRow(file, line, decoded?.refusal.message ?? 'holds no event');
  } catch (error) {
    if (error instanceof EventRefused) throw badRow(file, line, error.message, error);
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

function sameEvent(stored: Decoded, event: Envelope): boolean {
  return stored.kind === 'event' && sameContent(stored.event, event);
}

function conflict(path: string, { line, file = path, draft }: LinedDraft): DatasetError {
  return new DatasetError(
    'conflict',
    `${file} line ${line}: the record holds another ${draft.type} under the id ${draft.id}; nothing was imported. Import into an empty record, or find out which of the two was changed`,
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
