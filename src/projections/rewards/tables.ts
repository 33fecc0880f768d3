// Generated from tables.sql by `npm run codegen:tables`; digest of both: 917727f3cb29fe49
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  rewards: table('rewards', ['rewardId', 'treeId'], {
    rewardId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    stepId: column<string | null>('uuid'),
    rolloutId: column<string | null>('uuid'),
    component: column<string>('text'),
    value: column<number>('double precision'),
    assignedValue: column<number>('double precision'),
    scorer: column<string>('text'),
    scorerRevision: column<string>('text'),
    raw: column<Json<{ value: number; scale: number; kind: string }> | null>('jsonb'),
    revisions: column<number>('integer'),
    assignedAt: column<Instant>('timestamptz'),
    revisedAt: column<Instant | null>('timestamptz'),
  }),
  rewardRevisions: table('reward_revisions', ['treeId', 'eventId'], {
    eventId: column<string>('uuid'),
    rewardId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    ordinal: column<number>('integer'),
    value: column<number>('double precision'),
    scorer: column<string>('text'),
    scorerRevision: column<string>('text'),
    reason: column<string>('text'),
    occurredAt: column<Instant>('timestamptz'),
  }),
  rewardEdges: table('reward_edges', ['stepId', 'treeId'], {
    stepId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    parentStepId: column<string | null>('uuid'),
    rolloutId: column<string | null>('uuid'),
    depth: column<number>('integer'),
  }),
  rewardRollouts: table('reward_rollouts', ['rolloutId', 'treeId'], {
    rolloutId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    fromStepId: column<string>('uuid'),
    fromDepth: column<number>('integer'),
  }),
  rewardTrees: table('reward_trees', ['treeId'], {
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
  }),
  returns: table('returns', ['rolloutId', 'treeId'], {
    rolloutId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    leafStepId: column<string>('uuid'),
    value: column<number | null>('double precision'),
  }),
  runReturns: table('run_returns', ['runId', 'partition'], {
    runId: column<string>('uuid'),
    partition: column<number>('integer'),
    returns: column<number>('bigint'),
    total: column<string>('numeric'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
