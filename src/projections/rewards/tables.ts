// Generated from tables.sql by `npm run codegen:tables`; digest of both: c0860f9dee34c394
import type { Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  rewards: table('rewards', ['reward_id'], {
    reward_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    step_id: column<string | null>('uuid'),
    rollout_id: column<string | null>('uuid'),
    component: column<string>('text'),
    value: column<number>('double precision'),
    assigned_value: column<number>('double precision'),
    scorer: column<string>('text'),
    scorer_revision: column<string>('text'),
    raw: column<Json<{ value: number; scale: number; kind: string }> | null>('jsonb'),
    revisions: column<number>('integer'),
    assigned_at: column<Instant>('timestamptz'),
    revised_at: column<Instant | null>('timestamptz'),
  }),
  reward_revisions: table('reward_revisions', ['event_id'], {
    event_id: column<string>('uuid'),
    reward_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    ordinal: column<number>('integer'),
    value: column<number>('double precision'),
    scorer: column<string>('text'),
    scorer_revision: column<string>('text'),
    reason: column<string>('text'),
    occurred_at: column<Instant>('timestamptz'),
  }),
  reward_edges: table('reward_edges', ['step_id'], {
    step_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    parent_step_id: column<string | null>('uuid'),
  }),
  reward_trees: table('reward_trees', ['tree_id'], {
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
  }),
  returns: table('returns', ['rollout_id'], {
    rollout_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    leaf_step_id: column<string>('uuid'),
    value: column<number>('double precision'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
