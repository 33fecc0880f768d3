import { sql } from 'kysely';
import type { Draft } from '../../append/appender.ts';
import { prepareEvents } from '../../append/prepare-events.ts';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { catalogue } from '../../events/catalogue.ts';
import type { Envelope, Producer, Stamp } from '../../events/envelope.ts';
import { streamOf } from '../../events/stream-of.ts';
import type { Trx } from '../../postgres/database.ts';
import { projectOf } from '../../projections/owners/read-owners.ts';

/**
 * An event to be appended because of a change in the same transaction. Its id is derived from its cause, so a repeated append is
 * recognised.
 */
export type DerivedDraft = Draft & { readonly id: string };

/** Notifies a waiting relay that there is work. */
export const OUTBOX_CHANNEL = 'espalier_outbox';

export interface OutboxOptions {
  readonly blobs: BlobStore;
  readonly producer: Producer;
  readonly stamp: Stamp;
}

/**
 * Writes events of one stream into the outbox of a transaction, numbered in the producer's sequence and encoded as they will lie
 * in the log: they are appended if and only if the transaction commits. Every repetition of the append has the same bytes.
 * @param at the time of the decision, by the database's clock.
 * @throws EventRefused when an event does not fit its schema.
 */
export async function writeOutbox(trx: Trx, drafts: readonly DerivedDraft[], at: Date, options: OutboxOptions): Promise<void> {
  const [first] = drafts;
  if (!first) return;
  const stream = streamOf(first.type, first.data) ?? ''; // a draft without it is refused by its schema
  const { producer, blobs, stamp } = options;
  const { sequence, project } = await takeSequence(trx, stream, producer.name, drafts.length);
  const events = drafts.map(
    (draft, i) =>
      ({
        id: draft.id,
        type: draft.type,
        schemaVersion: catalogue[draft.type].version,
        stream,
        sequence: sequence + i,
        occurredAt: draft.occurredAt ?? at.toISOString(),
        correlationId: draft.correlationId,
        causationId: draft.causationId ?? null,
        producer,
        data: draft.data,
      }) as Envelope, // type and data come from one draft, whose union ties them
  );
  const records = await prepareEvents(events, blobs, project === null ? stamp : { ...stamp, project });
  const values = records.map(
    ({ topic, key, value }, i) => sql`(${events[i]?.id}::uuid, ${topic}, ${key}, ${Buffer.from(value)}::bytea)`,
  );
  await sql`
    insert into outbox (event_id, topic, key, value) values ${sql.join(values)}
    returning pg_notify(${OUTBOX_CHANNEL}, '')`.execute(trx);
}

/**
 * Takes the next numbers of a stream, and returns the first with the project that the stream belongs to: that of its policy,
 * whichever the process that decides works for; null of one that nobody has opened on record yet. A database that was made again
 * over an older log begins behind what the journal has of this producer, or its first events would look reordered.
 */
async function takeSequence(
  trx: Trx,
  stream: string,
  producer: string,
  count: number,
): Promise<{ readonly sequence: number; readonly project: string | null }> {
  const { rows } = await sql<{ next: number; project: string | null }>`
    insert into outbox_streams as o (stream, producer, next_sequence)
    values (${stream}::uuid, ${producer}, ${count} + coalesce(
      (select p.sequence + 1 from stream_producers p where p.stream = ${stream}::uuid and p.producer = ${producer}), 0))
    on conflict (stream, producer) do update set next_sequence = o.next_sequence + ${count}
    returning next_sequence as next, ${projectOf('training', stream)} as project`.execute(trx);
  const [row] = rows;
  if (row === undefined) throw new Error(`stream ${stream} got no number`);
  return { sequence: row.next - count, project: row.project };
}
