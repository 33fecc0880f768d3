import { entityOf } from '../../events/entity-of.ts';
import type { Delivery, RequeuedFrom } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows of the journal: one pure function per table. */
export type EventRow = Row<typeof tables.events>;
export type AnomalyRow = Row<typeof tables.anomalies>;
/** A place at which an event was appended again, requeued from a quarantine. */
export type RequeueRow = Row<typeof tables.requeuedRecords>;
export function requeueRow(
  { topic, partition, offset, event }: Delivery,
  { offset: from, at, reason }: RequeuedFrom,
  receivedAt: string | null,
): RequeueRow {
  const place = { topic, partition, offset, eventId: event.id, stream: event.stream };
  return { ...place, fromOffset: from, requeuedAt: at, reason, receivedAt };
}

/** @param logPartition where the log in this database holds the record; null where the row is to keep the body itself. */
export function eventRow(delivery: Delivery, position: number, receivedAt: string | null, logPartition: number | null): EventRow {
  const { topic, partition, offset, event, body } = delivery;
  return {
    topic,
    partition,
    offset,
    eventId: event.id,
    type: event.type,
    stream: event.stream,
    entityId: entityOf(event)?.id ?? null,
    position,
    sequence: event.sequence,
    producer: event.producer.name,
    correlationId: event.correlationId,
    occurredAt: event.occurredAt,
    body: logPartition === null ? body : '',
    receivedAt,
    logPartition,
  };
}

export function anomaly(delivery: Delivery, kind: AnomalyRow['kind'], detail: string): AnomalyRow {
  const { topic, partition, offset, event } = delivery;
  return { topic, partition, offset, eventId: event.id, stream: event.stream, kind, detail };
}
