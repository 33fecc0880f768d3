// Generated from tables.sql by `npm run codegen:tables`; digest of both: d75392bfd1a25805
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  backups: table('backups', ['event_id'], {
    event_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    simulation: column<number>('bigint'),
    leaf_step_id: column<string>('uuid'),
    value: column<number>('double precision'),
    path: column<string[]>('uuid[]'),
    log_offset: column<number>('bigint'),
  }),
  node_statistics: table('node_statistics', ['step_id'], {
    step_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    visits: column<number>('bigint'),
    value_sum: column<number>('double precision'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
