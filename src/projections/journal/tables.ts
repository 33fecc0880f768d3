// Generated from tables.sql by `npm run codegen:tables`; digest of both: 9e56d715bd9e390d
import type { Instant } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  events: table('events', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    event_id: column<string>('uuid'),
    type: column<string>('text'),
    stream: column<string>('uuid'),
    position: column<number>('bigint'),
    sequence: column<number>('bigint'),
    producer: column<string>('text'),
    correlation_id: column<string>('uuid'),
    occurred_at: column<Instant>('timestamptz'),
    body: column<string>('text'),
  }),
  streams: table('streams', ['stream'], {
    stream: column<string>('uuid'),
    position: column<number>('bigint'),
  }),
  stream_producers: table('stream_producers', ['stream', 'producer'], {
    stream: column<string>('uuid'),
    producer: column<string>('text'),
    sequence: column<number>('bigint'),
  }),
  anomalies: table('anomalies', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    event_id: column<string>('uuid'),
    stream: column<string>('uuid'),
    kind: column<'duplicate' | 'gap' | 'reordered'>('text'),
    detail: column<string>('text'),
  }),
  quarantine_releases: table('quarantine_releases', ['topic', 'partition', 'offset'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    offset: column<number>('bigint'),
    event_id: column<string>('uuid'),
    stream: column<string>('uuid'),
    from_offset: column<number>('bigint'),
    released_at: column<Instant>('timestamptz'),
    reason: column<string | null>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
