// Generated from tables.sql by `npm run codegen:tables`; digest of both: 6732a78f11ccb9bc
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  experiments: table('experiments', ['experimentId'], {
    experimentId: column<string>('uuid'),
    name: column<string>('text'),
    question: column<string>('text'),
    declaredAt: column<Instant>('timestamptz'),
  }),
  runs: table('runs', ['runId'], {
    runId: column<string>('uuid'),
    experimentId: column<string | null>('uuid'),
    name: column<string>('text'),
    kind: column<string>('text'),
    seed: column<number>('bigint'),
    codeVersion: column<string>('text'),
    config: column<Json<Record<string, unknown>>>('jsonb'),
    environments: column<Json<{ environment: string; fingerprint: string }[]>>('jsonb'),
    policyId: column<string | null>('text'),
    policyVersion: column<number | null>('integer'),
    startedAt: column<Instant>('timestamptz'),
    finishedAt: column<Instant | null>('timestamptz'),
    outcome: column<string | null>('text'),
    message: column<string | null>('text'),
  }),
  runRecorders: table('run_recorders', ['runId', 'recorderId'], {
    runId: column<string>('uuid'),
    recorderId: column<string>('uuid'),
    name: column<string>('text'),
    joinedAt: column<Instant>('timestamptz'),
    leftAt: column<Instant | null>('timestamptz'),
    outcome: column<'completed' | 'failed' | 'cancelled' | null>('text'),
    message: column<string | null>('text'),
    endedByOpener: column<boolean>('boolean'),
  }),
  metrics: table('metrics', ['runId', 'eventId'], {
    eventId: column<string>('uuid'),
    runId: column<string>('uuid'),
    metric: column<string>('text'),
    value: column<number>('double precision'),
    at: column<number | null>('bigint'),
    weights: column<string | null>('text'),
    occurredAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
