// Generated from tables.sql by `npm run codegen:tables`; digest of both: 60896d9550a27b0e
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  experimentPlans: table('experiment_plans', ['experimentId'], {
    experimentId: column<string>('uuid'),
    declaration: column<Json<Record<string, unknown>>>('jsonb'),
    rerunOf: column<string | null>('uuid'),
  }),
  experimentStages: table('experiment_stages', ['experimentId', 'eventId'], {
    eventId: column<string>('uuid'),
    experimentId: column<string>('uuid'),
    arm: column<string>('text'),
    stage: column<string>('text'),
    kind: column<string>('text'),
    seed: column<number>('bigint'),
    key: column<string>('text'),
    outcome: column<'completed' | 'failed'>('text'),
    message: column<string>('text'),
    reusedFrom: column<string | null>('uuid'),
    output: column<Json<Record<string, unknown>> | null>('jsonb'),
    finishedAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
