// Generated from tables.sql by `npm run codegen:tables`; digest of both: 8f4e3ee3744c79ea
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  evaluations: table('evaluations', ['runId'], {
    runId: column<string>('uuid'),
    policyId: column<string>('text'),
    policyVersion: column<number>('integer'),
    tasks: column<number>('integer'),
    meanReturn: column<number | null>('double precision'),
    recoveredRunId: column<string | null>('uuid'),
    trained: column<Json<Record<string, unknown>> | null>('jsonb'),
    measures: column<Json<Record<string, unknown>>>('jsonb'),
    finishedAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
