// Generated from tables.sql by `npm run codegen:tables`; digest of both: e77ac6f7b2385aee
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  renderers: table('renderers', ['runId', 'environment'], {
    runId: column<string>('uuid'),
    environment: column<string>('text'),
    sha256: column<string>('text'),
    source: column<string>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
