// Generated from tables.sql by `npm run codegen:tables`; digest of both: bb1866af4aab2caf
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  chainBlocks: table('chain_blocks', ['topic', 'partition', 'block'], {
    topic: column<string>('text'),
    partition: column<number>('integer'),
    block: column<number>('bigint'),
    offsets: column<string[]>('bigint[]'),
    eventIds: column<string[]>('uuid[]'),
    digests: column<Buffer>('bytea'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
