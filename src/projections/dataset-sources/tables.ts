// Generated from tables.sql by `npm run codegen:tables`; digest of both: ba9cb77384aae943
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  datasetDigests: table('dataset_digests', ['datasetId'], {
    datasetId: column<string>('uuid'),
    sha256: column<string>('text'),
  }),
  datasetExamples: table('dataset_examples', ['datasetId', 'line'], {
    datasetId: column<string>('uuid'),
    line: column<number>('integer'),
    lines: column<number>('integer'),
    kind: column<'good' | 'revision' | 'pair'>('text'),
    treeId: column<string>('uuid'),
    goodRolloutId: column<string>('uuid'),
    badRolloutId: column<string | null>('uuid'),
    revisionId: column<string | null>('uuid'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
