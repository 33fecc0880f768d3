// Generated from tables.sql by `npm run codegen:tables`; digest of both: 45876f1edd55a240
import type { Instant } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  events: table('events', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    eventId: column<string>('uuid'),
    type: column<string>('text'),
    stream: column<string>('uuid'),
    entityId: column<string | null>('uuid'),
    position: column<number>('bigint'),
    sequence: column<number>('bigint'),
    producer: column<string>('text'),
    correlationId: column<string>('uuid'),
    occurredAt: column<Instant>('timestamptz'),
    body: column<string>('text'),
    receivedAt: column<Instant | null>('timestamptz'),
    logPartition: column<number | null>('integer'),
  }),
  streams: table('streams', ['stream'], {
    stream: column<string>('uuid'),
    position: column<number>('bigint'),
  }),
  streamProducers: table('stream_producers', ['stream', 'producer'], {
    stream: column<string>('uuid'),
    producer: column<string>('text'),
    sequence: column<number>('bigint'),
  }),
  anomalies: table('anomalies', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    eventId: column<string>('uuid'),
    stream: column<string>('uuid'),
    kind: column<'duplicate' | 'gap' | 'reordered' | 'superseded'>('text'),
    detail: column<string>('text'),
  }),
  requeuedRecords: table('requeued_records', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    eventId: column<string>('uuid'),
    stream: column<string>('uuid'),
    fromOffset: column<number>('bigint'),
    requeuedAt: column<Instant>('timestamptz'),
    reason: column<string | null>('text'),
    receivedAt: column<Instant | null>('timestamptz'),
  }),
  runEvents: table('run_events', ['runId', 'topic', 'partition'], {
    runId: column<string>('uuid'),
    topic: column<string>('text'),
    partition: column<number>('integer'),
    events: column<number>('bigint'),
    lastAt: column<Instant>('timestamptz'),
    minute: column<number>('bigint'),
    inMinute: column<number>('bigint'),
    minuteBefore: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
