// Generated from tables.sql by `npm run codegen:tables`; digest of both: 85a0238641998a96
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  evaluations: table('evaluations', ['run_id'], {
    run_id: column<string>('uuid'),
    policy_id: column<string>('text'),
    policy_version: column<number>('integer'),
    environment: column<string>('text'),
    split: column<string | null>('text'),
    tasks: column<number>('integer'),
    episodes: column<number>('integer'),
    mean_return: column<number>('double precision'),
    return_low: column<number>('double precision'),
    return_high: column<number>('double precision'),
    success_rate: column<number>('double precision'),
    success_low: column<number>('double precision'),
    success_high: column<number>('double precision'),
    mean_steps: column<number>('double precision'),
    bootstrap: column<Json<Record<string, unknown>>>('jsonb'),
    repeated_actions: column<Json<{ length: number; perEpisode: number }[]>>('jsonb'),
    by_depth: column<Json<{ taskDepth: number | null; episodes: number; successes: number }[]>>('jsonb'),
    recovered_run_id: column<string | null>('uuid'),
    trained: column<Json<Record<string, unknown>> | null>('jsonb'),
    finished_at: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
