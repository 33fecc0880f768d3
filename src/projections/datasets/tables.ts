// Generated from tables.sql by `npm run codegen:tables`; digest of both: 82e48816fabd155e
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  datasets: table('datasets', ['dataset_id'], {
    dataset_id: column<string>('uuid'),
    name: column<string>('text'),
    version: column<number>('integer'),
    format: column<string>('text'),
    format_version: column<number>('integer'),
    query: column<Json<Record<string, unknown>>>('jsonb'),
    parameters: column<Json<Record<string, unknown>>>('jsonb'),
    position: column<Json<Record<string, string>>>('jsonb'),
    counts: column<Json<Record<string, unknown>>>('jsonb'),
    bytes: column<number>('bigint'),
    sha256: column<string>('text'),
    code_version: column<string>('text'),
    runs: column<string[]>('uuid[]'),
    released_at: column<Instant>('timestamptz'),
    withdrawn_at: column<Instant | null>('timestamptz'),
    withdraw_reason: column<string | null>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
