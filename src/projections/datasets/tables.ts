// Generated from tables.sql by `npm run codegen:tables`; digest of both: 9067f5d8100d7c83
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  datasets: table('datasets', ['datasetId'], {
    datasetId: column<string>('uuid'),
    name: column<string>('text'),
    version: column<number>('integer'),
    format: column<string>('text'),
    formatVersion: column<number>('integer'),
    query: column<Json<Record<string, unknown>>>('jsonb'),
    parameters: column<Json<Record<string, unknown>>>('jsonb'),
    position: column<Json<Record<string, string>>>('jsonb'),
    counts: column<Json<Record<string, unknown>>>('jsonb'),
    bytes: column<number>('bigint'),
    sha256: column<string>('text'),
    codeVersion: column<string>('text'),
    runs: column<string[]>('uuid[]'),
    releasedAt: column<Instant>('timestamptz'),
    withdrawnAt: column<Instant | null>('timestamptz'),
    withdrawReason: column<string | null>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
