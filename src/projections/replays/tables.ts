// Generated from tables.sql by `npm run codegen:tables`; digest of both: d1df562e5a83fe62
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  replays: table('replays', ['runId', 'replayId'], {
    runId: column<string>('uuid'),
    replayId: column<string>('uuid'),
    mode: column<string>('text'),
    outcome: column<string>('text'),
    compared: column<number>('bigint'),
    differing: column<number>('bigint'),
    differences: column<Json<Record<string, unknown>>>('jsonb'),
    notes: column<Json<Record<string, unknown>>>('jsonb'),
    parameters: column<Json<Record<string, unknown>>>('jsonb'),
    codeVersion: column<string>('text'),
    seconds: column<number>('integer'),
    finishedAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
