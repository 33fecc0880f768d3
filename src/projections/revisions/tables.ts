// Generated from tables.sql by `npm run codegen:tables`; digest of both: 767530c1c7b53a49
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  judgements: table('judgements', ['judgement_id'], {
    judgement_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    leaf_step_id: column<string>('uuid'),
    step_id: column<string>('uuid'),
    step_index: column<number>('integer'),
    judge: column<string>('text'),
    prompt_hash: column<string>('text'),
    verdict: column<'good' | 'bad' | 'uncertain' | 'unparsed'>('text'),
    reply: column<string>('text'),
    reused_from: column<string | null>('uuid'),
    judged_at: column<Instant>('timestamptz'),
    log_offset: column<number>('bigint'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  revisions: table('revisions', ['revision_id'], {
    revision_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    good_leaf_step_id: column<string>('uuid'),
    bad_leaf_step_id: column<string>('uuid'),
    branch_step_id: column<string>('uuid'),
    transition_step_id: column<string>('uuid'),
    transition_cause: column<'bad' | 'none-bad' | 'unparsed' | 'direct'>('text'),
    judged: column<number>('integer'),
    reflection: column<string>('text'),
    signal: column<'thought' | 'turn' | 'in-form'>('text'),
    alpha: column<number>('double precision'),
    beta: column<number>('double precision'),
    judge: column<string>('text'),
    content_hash: column<string>('text'),
    state: column<'composed' | 'verified' | 'rejected'>('text'),
    reached: column<number | null>('double precision'),
    threshold: column<number | null>('double precision'),
    reason: column<string | null>('text'),
    detail: column<string | null>('text'),
    at_step_id: column<string | null>('uuid'),
    composed_at: column<Instant>('timestamptz'),
    checked_at: column<Instant | null>('timestamptz'),
    log_offset: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
