// Generated from tables.sql by `npm run codegen:tables`; digest of both: 0e7a4a21c025d67b
import type { Instant } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  annotations: table('annotations', ['treeId', 'annotationId'], {
    annotationId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    kind: column<'step' | 'rollout' | 'revision' | 'row' | 'tree'>('text'),
    stepId: column<string | null>('uuid'),
    rolloutId: column<string | null>('uuid'),
    revisionId: column<string | null>('uuid'),
    datasetId: column<string | null>('uuid'),
    line: column<number | null>('integer'),
    label: column<string | null>('text'),
    score: column<number | null>('double precision'),
    note: column<string>('text'),
    principal: column<string>('text'),
    addedAt: column<Instant>('timestamptz'),
    retractedAt: column<Instant | null>('timestamptz'),
    retractedBy: column<string | null>('text'),
    retractReason: column<string | null>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
