// Generated from tables.sql by `npm run codegen:tables`; digest of both: 8dc5631c0f35ffc8
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  dataset_digests: table('dataset_digests', ['dataset_id'], {
    dataset_id: column<string>('uuid'),
    sha256: column<string>('text'),
  }),
  dataset_examples: table('dataset_examples', ['dataset_id', 'line'], {
    dataset_id: column<string>('uuid'),
    line: column<number>('integer'),
    lines: column<number>('integer'),
    kind: column<'good' | 'revision' | 'pair'>('text'),
    tree_id: column<string>('uuid'),
    good_rollout_id: column<string>('uuid'),
    bad_rollout_id: column<string | null>('uuid'),
    revision_id: column<string | null>('uuid'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
