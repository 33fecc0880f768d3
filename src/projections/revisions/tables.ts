// Generated from tables.sql by `npm run codegen:tables`; digest of both: ee25478371aaca15
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  judgements: table('judgements', ['treeId', 'judgementId'], {
    judgementId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    leafStepId: column<string>('uuid'),
    stepId: column<string>('uuid'),
    stepIndex: column<number>('integer'),
    judge: column<string>('text'),
    promptHash: column<string>('text'),
    verdict: column<'good' | 'bad' | 'uncertain' | 'unparsed'>('text'),
    reply: column<string>('text'),
    reusedFrom: column<string | null>('uuid'),
    judgedAt: column<Instant>('timestamptz'),
    logOffset: column<number>('bigint'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  revisions: table('revisions', ['revisionId', 'treeId'], {
    revisionId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    goodLeafStepId: column<string>('uuid'),
    badLeafStepId: column<string>('uuid'),
    branchStepId: column<string>('uuid'),
    transitionStepId: column<string>('uuid'),
    transitionCause: column<'bad' | 'none-bad' | 'unparsed' | 'direct'>('text'),
    judged: column<number>('integer'),
    reflection: column<string>('text'),
    signal: column<'thought' | 'turn' | 'in-form'>('text'),
    alpha: column<number>('double precision'),
    beta: column<number>('double precision'),
    judge: column<string>('text'),
    contentHash: column<string>('text'),
    state: column<'composed' | 'verified' | 'rejected'>('text'),
    reached: column<number | null>('double precision'),
    threshold: column<number | null>('double precision'),
    reason: column<string | null>('text'),
    detail: column<string | null>('text'),
    atStepId: column<string | null>('uuid'),
    composedAt: column<Instant>('timestamptz'),
    checkedAt: column<Instant | null>('timestamptz'),
    logOffset: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
