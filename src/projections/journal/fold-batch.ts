import { clearHash, contentHash, decode } from '../../events/codec.ts';
import { entityOf } from '../../events/entity-of.ts';
import { type Delivery, type Envelope, identityOf, type Sealed } from '../../events/envelope.ts';
import { growsTree } from '../owners/non-owner-scope.ts';
import type { Poison } from '../projection.ts';
import { type AnomalyRow, anomaly, type EventRow, eventRow, type RequeueRow, requeueRow } from './rows.ts';

/** What the journal holds of what a batch speaks of; the fold adds what the batch itself brings, in its order. */
export interface JournalState {
  /** Identity of an event → the record that was appended under it first. */
  readonly bodies: Map<string, string>;
  /** Place of a record that one of the batch repeats, by `placeOf` → its event and the record. */
  readonly repeated: Map<string, Repetition>;
  /** Stream → its last position. */
  readonly positions: Map<string, number>;
  /** Stream and producer, with a blank between → the last sequence. */
  readonly sequences: Map<string, number>;
  /** Topic and partition, with a blank between → when the log took the last record that the journal holds of it. */
  readonly received: Map<string, string>;
  /** Topic and partition, with a blank between → the partition of the log in this database that holds its records. */
  readonly logPartitions: Map<string, number>;
}

/** The first record of a fact, or the opening of a tree. */
export interface Repetition {
  readonly eventId: string;
  readonly correlationId: string;
  readonly body: string;
}

export interface JournalRows {
  readonly events: readonly EventRow[];
  readonly anomalies: readonly AnomalyRow[];
  readonly requeues: readonly RequeueRow[];
  readonly poison: readonly Poison[];
}

/** Folds a batch into rows and into what is known. */
export function foldBatch(batch: readonly Delivery[], state: JournalState): JournalRows {
  const { bodies, repeated, positions, sequences, received, logPartitions } = state;
  const poison: Poison[] = [];
  const events: EventRow[] = [];
  const anomalies: AnomalyRow[] = [];
  const requeues: RequeueRow[] = [];

  /** Returns when a record that is kept was received: a clock that was set back does not reorder a partition. */
  const receive = ({ topic, partition, receivedAt }: Delivery): string | null => {
    const place = `${topic} ${partition}`;
    const before = received.get(place) ?? null;
    const at = receivedAt !== null && (before === null || receivedAt > before) ? receivedAt : before;
    if (at !== null) received.set(place, at);
    return at;
  };

  for (const delivery of batch) {
    const { event, supersededBy } = delivery;
    if (supersededBy !== undefined) {
      anomalies.push(
        anomaly(
          delivery,
          'superseded',
          `appended by the collector of epoch ${event.epoch} after that of epoch ${supersededBy} took over`,
        ),
      );
      continue;
    }
    const identity = identityOf(event);
    const before = bodies.get(identity);
    if (before !== undefined) {
      if (isRepetition(before, delivery)) {
        if (event.released) requeues.push(requeueRow(delivery, event.released, receive(delivery)));
        // A segment is named by its content: two processes that draw the same one at once both record it, as they should.
        else if (event.type !== 'SegmentRendered')
          anomalies.push(anomaly(delivery, 'duplicate', 'appended again with the same content'));
      } else
        poison.push({
          delivery,
          code: 'conflict',
          field: 'id',
          reason: 'another event of this stream was appended under this id before; give a new fact a new id',
        });
      continue;
    }
    const first = delivery.repeats === undefined ? undefined : repeated.get(placeOf(delivery, delivery.repeats));
    if (first && !isRepetition(first.body, delivery)) {
      poison.push({ delivery, code: 'conflict', ...conflictWith(first, delivery.event) });
      continue;
    }
    if (first) anomalies.push(anomaly(delivery, 'duplicate', `states the same fact as event ${first.eventId}`));
    bodies.set(identity, delivery.body);
    repeated.set(placeOf(delivery, delivery.offset), {
      eventId: event.id,
      correlationId: event.correlationId,
      body: delivery.body,
    });
    const receivedAt = receive(delivery);
    if (event.released) requeues.push(requeueRow(delivery, event.released, receivedAt));
    const producerKey = `${event.stream} ${event.producer.name}`;
    const last = sequences.get(producerKey);
    const expected = last === undefined ? 0 : last + 1;
    if (event.sequence > expected)
      anomalies.push(
        anomaly(delivery, 'gap', `sequence ${event.sequence} of ${event.producer.name} came where ${expected} was due`),
      );
    if (event.sequence < expected)
      anomalies.push(
        anomaly(delivery, 'reordered', `sequence ${event.sequence} of ${event.producer.name} came after ${expected - 1}`),
      );
    sequences.set(producerKey, Math.max(event.sequence, last ?? 0));
    const position = (positions.get(event.stream) ?? 0) + 1;
    positions.set(event.stream, position);
    const logPartition = logPartitions.get(`${delivery.topic} ${delivery.partition}`) ?? null;
    events.push(eventRow(delivery, position, receivedAt, logPartition));
  }

  return { events, anomalies, requeues, poison };
}

/** A place of the log as a key of `Known.repeated`. */
export function placeOf({ topic, partition }: Pick<Delivery, 'topic' | 'partition'>, offset: number): string {
  return `${topic} ${partition} ${offset}`;
}

/** Describes why an event contradicts an earlier one of its stream: another word on the same fact, or another run of the tree. */
function conflictWith({ eventId, correlationId }: Repetition, event: Envelope): Pick<Poison, 'field' | 'reason'> {
  if (growsTree(event) && event.correlationId !== correlationId)
    return {
      field: 'correlationId',
      reason: `tree ${event.stream} belongs to run ${correlationId}, which opened it first; give a tree of another run an id of its own`,
    };
  const entity = entityOf(event);
  return {
    field: entity ? `data.${entity.field}` : 'id',
    reason: `the ${event.type} of ${entity?.name} has other content in event ${eventId} of this stream, which was recorded first; give another an id of its own`,
  };
}

/**
 * Returns whether a record says what the one before it under its id says; who wrote them and when may differ, since a resumed
 * producer appends a derived id again. What one key sealed is compared as it is sealed, which says the same after the key is
 * destroyed; what two keys sealed, or one alone, is compared in its clear part: a fold may not depend on which keys are left.
 */
export function isRepetition(before: string, { body, event }: Pick<Delivery, 'body' | 'event'>): boolean {
  if (before === body) return true;
  const decoded = decode(Buffer.from(before));
  if (decoded.kind === 'refused') return false;
  const [first, second] = [decoded.event.sealed, sealedIn(body)];
  if (!first && !second) return contentHash(decoded.event) === contentHash(event);
  if (first && second && first.key === second.key && first.text !== second.text) return false;
  return clearHash(decoded.event) === clearHash(event);
}

function sealedIn(body: string): Sealed | undefined {
  return body.includes('"sealed":{"key":"') ? (JSON.parse(body) as Envelope).sealed : undefined; // it was decoded before
}
