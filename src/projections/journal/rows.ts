import type { Delivery, ReleasedFrom } from '../../events/envelope.ts';

/** The rows of the journal: one pure function per table, with the column types of its bulk insert beside it. */
export interface EventRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event_id: string;
  readonly type: string;
  readonly stream: string;
  readonly position: number;
  readonly sequence: number;
  readonly producer: string;
  readonly correlation_id: string;
  readonly occurred_at: string;
  readonly body: string;
}
export const EVENT_COLUMNS: Record<keyof EventRow, string> = {
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  type: 'text',
  stream: 'uuid',
  position: 'bigint',
  sequence: 'bigint',
  producer: 'text',
  correlation_id: 'uuid',
  occurred_at: 'timestamptz',
  body: 'text',
};

export interface AnomalyRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event_id: string;
  readonly stream: string;
  readonly kind: 'duplicate' | 'gap' | 'reordered';
  readonly detail: string;
}
export const ANOMALY_COLUMNS: Record<keyof AnomalyRow, string> = {
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  stream: 'uuid',
  kind: 'text',
  detail: 'text',
};

/** A place at which an event was appended again, released from a quarantine. */
export interface ReleaseRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event_id: string;
  readonly stream: string;
  readonly from_offset: number;
  readonly released_at: string;
  readonly reason: string | null;
}
export const RELEASE_COLUMNS: Record<keyof ReleaseRow, string> = {
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  stream: 'uuid',
  from_offset: 'bigint',
  released_at: 'timestamptz',
  reason: 'text',
};

export function releaseRow(
  { topic, partition, offset, event }: Delivery,
  { offset: from, at, reason }: ReleasedFrom,
): ReleaseRow {
  return { topic, partition, offset, event_id: event.id, stream: event.stream, from_offset: from, released_at: at, reason };
}

export function eventRow(delivery: Delivery, position: number): EventRow {
  const { topic, partition, offset, event, body } = delivery;
  return {
    topic,
    partition,
    offset,
    event_id: event.id,
    type: event.type,
    stream: event.stream,
    position,
    sequence: event.sequence,
    producer: event.producer.name,
    correlation_id: event.correlationId,
    occurred_at: event.occurredAt,
    body,
  };
}

export function anomaly(delivery: Delivery, kind: AnomalyRow['kind'], detail: string): AnomalyRow {
  const { topic, partition, offset, event } = delivery;
  return { topic, partition, offset, event_id: event.id, stream: event.stream, kind, detail };
}
