// Generated from tables.sql by `npm run codegen:tables`; digest of both: 5fb2ca0df9f84f21
import type { Instant } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  heldSpans: table('held_spans', ['spanId', 'treeId'], {
    spanId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    rolloutId: column<string>('uuid'),
    run: column<string>('text'),
    task: column<string>('text'),
    rollout: column<string>('text'),
    principal: column<string>('text'),
    project: column<string>('text'),
    ends: column<boolean>('boolean'),
    placed: column<boolean>('boolean'),
    receivedAt: column<Instant>('timestamptz'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
