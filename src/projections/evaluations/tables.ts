// Generated from tables.sql by `npm run codegen:tables`; digest of both: c44c90a2ead28b99
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  evaluations: table('evaluations', ['runId'], {
    runId: column<string>('uuid'),
    policyId: column<string>('text'),
    policyVersion: column<number>('integer'),
    environment: column<string>('text'),
    split: column<string | null>('text'),
    tasks: column<number>('integer'),
    episodes: column<number>('integer'),
    rewarded: column<number | null>('integer'),
    meanReturn: column<number | null>('double precision'),
    returnLow: column<number | null>('double precision'),
    returnHigh: column<number | null>('double precision'),
    successRate: column<number>('double precision'),
    successLow: column<number>('double precision'),
    successHigh: column<number>('double precision'),
    meanSteps: column<number>('double precision'),
    bootstrap: column<Json<Record<string, unknown>>>('jsonb'),
    repeatedActions: column<Json<{ length: number; perEpisode: number }[]>>('jsonb'),
    byDepth: column<Json<{ taskDepth: number | null; episodes: number; successes: number }[]>>('jsonb'),
    recoveredRunId: column<string | null>('uuid'),
    trained: column<Json<Record<string, unknown>> | null>('jsonb'),
    finishedAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
