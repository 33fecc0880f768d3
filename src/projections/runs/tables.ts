// Generated from tables.sql by `npm run codegen:tables`; digest of both: 90ca9d622379cabe
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  experiments: table('experiments', ['experiment_id'], {
    experiment_id: column<string>('uuid'),
    name: column<string>('text'),
    question: column<string>('text'),
    declared_at: column<Instant>('timestamptz'),
  }),
  runs: table('runs', ['run_id'], {
    run_id: column<string>('uuid'),
    experiment_id: column<string | null>('uuid'),
    name: column<string>('text'),
    kind: column<string>('text'),
    seed: column<number>('bigint'),
    code_version: column<string>('text'),
    config: column<Json<Record<string, unknown>>>('jsonb'),
    environments: column<Json<{ environment: string; fingerprint: string }[]>>('jsonb'),
    policy_id: column<string | null>('text'),
    policy_version: column<number | null>('integer'),
    started_at: column<Instant>('timestamptz'),
    finished_at: column<Instant | null>('timestamptz'),
    outcome: column<string | null>('text'),
    message: column<string | null>('text'),
  }),
  metrics: table('metrics', ['event_id'], {
    event_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    metric: column<string>('text'),
    value: column<number>('double precision'),
    at: column<number | null>('bigint'),
    occurred_at: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
