import type { Draft } from '../../append/appender.ts';
import { prepareEvents } from '../../append/prepare-events.ts';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { catalogue } from '../../events/catalogue.ts';
import type { Envelope, Producer, Stamp } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';

/**
 * An event to be appended because of a change in the same transaction. Its id is derived from its cause, so a repeated append is
 * recognised.
 */
export type DerivedDraft = Draft & { readonly id: string };

/** What the next event of a producer in a stream is given. */
export interface Numbering {
  readonly sequence: number;
  /** Of the stream, whichever the process works for; null of one that nobody has opened on record yet. */
  readonly project: string | null;
}

interface EncodingOptions {
  readonly blobs: BlobStore;
  readonly producer: Producer;
  readonly stamp: Stamp;
}

/** Events as they will lie in the log, one behind the other. */
interface EncodedEvents {
  readonly ids: readonly string[];
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  readonly bodies: Uint8Array;
}

/**
 * Encodes events of one stream under its next numbers. Every repetition of their append has the same bytes.
 * @param at the time of the decision, by the database's clock.
 * @throws EventRefused when an event does not fit its schema.
 */
export async function encodeEvents(
  stream: string,
  drafts: readonly DerivedDraft[],
  { sequence, project }: Numbering,
  at: Date,
  { blobs, producer, stamp }: EncodingOptions,
): Promise<EncodedEvents> {
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
  const values = (await prepareEvents(events, blobs, project === null ? stamp : { ...stamp, project })).map(({ value }) => value);
  const lengths = values.map(({ byteLength }) => byteLength);
  let end = 0;
  const starts = lengths.map((length) => {
    end += length;
    return end - length;
  });
  return { ids: drafts.map(({ id }) => id), starts, lengths, bodies: Buffer.concat(values, end) };
}

/**
 * Returns the stamp of an event about a policy: it belongs to the project of the policy, whichever project the process that
 * decides works for. A policy that nobody has opened on record yet is opened by this event, for the project of the stamp.
 */
export async function stampOfPolicy(db: Db, lineageId: string, stamp: Stamp): Promise<Stamp> {
  const owner = (await readOwners(db, 'training', [lineageId])).get(lineageId);
  return owner ? { ...stamp, project: owner.project } : stamp;
}
