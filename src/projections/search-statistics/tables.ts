// Generated from tables.sql by `npm run codegen:tables`; digest of both: 9b5604f829ee4d01
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  backups: table('backups', ['treeId', 'eventId'], {
    eventId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    simulation: column<number>('bigint'),
    leafStepId: column<string>('uuid'),
    value: column<number>('double precision'),
    path: column<string[]>('uuid[]'),
    logOffset: column<number>('bigint'),
  }),
  nodeStatistics: table('node_statistics', ['stepId', 'treeId'], {
    stepId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    visits: column<number>('bigint'),
    valueSum: column<number>('double precision'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
