// Generated from tables.sql by `npm run codegen:tables`; digest of both: b2f1bac60be6ffc1
import type { Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  pictures: table('pictures', ['stepId', 'treeId', 'ordinal'], {
    stepId: column<string>('uuid'),
    ordinal: column<number>('integer'),
    treeId: column<string>('uuid'),
    imageId: column<string>('text'),
    width: column<number>('integer'),
    height: column<number>('integer'),
    png: column<Json<Record<string, unknown>>>('jsonb'),
    logOffset: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
