import type { Delivery, Envelope } from '../../events/envelope.ts';
import { judgeText } from '../../events/schemas/revisions.ts';

/** The rows that the events of revision mining become, with the column types of their bulk writes beside them. */

export const JUDGEMENT_COLUMNS = {
  judgement_id: 'uuid',
  tree_id: 'uuid',
  run_id: 'uuid',
  leaf_step_id: 'uuid',
  step_id: 'uuid',
  step_index: 'integer',
  judge: 'text',
  prompt_hash: 'text',
  verdict: 'text',
  reply: 'text',
  reused_from: 'uuid',
  judged_at: 'timestamptz',
  log_offset: 'bigint',
  blobs: 'jsonb',
};
export function judgementRow({
  event,
  offset,
}: Delivery<Envelope<'StepJudged'>>): Record<keyof typeof JUDGEMENT_COLUMNS, unknown> {
  const { data } = event;
  return {
    judgement_id: event.id,
    tree_id: data.treeId,
    run_id: event.correlationId,
    leaf_step_id: data.leafStepId,
    step_id: data.stepId,
    step_index: data.index,
    judge: judgeText(data.judge),
    prompt_hash: data.promptHash,
    verdict: data.verdict,
    reply: typeof data.reply === 'string' ? data.reply : '',
    reused_from: event.causationId,
    judged_at: event.occurredAt,
    log_offset: offset,
    blobs: typeof data.reply === 'string' ? null : { reply: data.reply },
  };
}

export interface RevisionRow extends OutcomeRow {
  readonly tree_id: string;
  readonly run_id: string;
  readonly good_leaf_step_id: string;
  readonly bad_leaf_step_id: string;
  readonly branch_step_id: string;
  readonly transition_step_id: string;
  readonly transition_cause: string;
  readonly judged: number;
  readonly reflection: string;
  readonly signal: string;
  readonly alpha: number;
  readonly beta: number;
  readonly judge: string;
  readonly content_hash: string;
  readonly composed_at: string;
  readonly log_offset: number;
}

/** What became of a revision: the columns that its second event fills. */
export interface OutcomeRow {
  readonly revision_id: string;
  readonly state: 'composed' | 'verified' | 'rejected';
  readonly reached: number | null;
  readonly threshold: number | null;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly at_step_id: string | null;
  readonly checked_at: string | null;
}

export const OUTCOME_COLUMNS: Readonly<Record<keyof OutcomeRow, string>> = {
  revision_id: 'uuid',
  state: 'text',
  reached: 'double precision',
  threshold: 'double precision',
  reason: 'text',
  detail: 'text',
  at_step_id: 'uuid',
  checked_at: 'timestamptz',
};
export const REVISION_COLUMNS: Readonly<Record<keyof RevisionRow, string>> = {
  ...OUTCOME_COLUMNS,
  tree_id: 'uuid',
  run_id: 'uuid',
  good_leaf_step_id: 'uuid',
  bad_leaf_step_id: 'uuid',
  branch_step_id: 'uuid',
  transition_step_id: 'uuid',
  transition_cause: 'text',
  judged: 'integer',
  reflection: 'text',
  signal: 'text',
  alpha: 'double precision',
  beta: 'double precision',
  judge: 'text',
  content_hash: 'text',
  composed_at: 'timestamptz',
  log_offset: 'bigint',
};
export function revisionRow({ event, offset }: Delivery<Envelope<'RevisionComposed'>>): RevisionRow {
  const { data } = event;
  return {
    revision_id: data.revisionId,
    tree_id: data.treeId,
    run_id: event.correlationId,
    good_leaf_step_id: data.goodLeafStepId,
    bad_leaf_step_id: data.badLeafStepId,
    branch_step_id: data.branchStepId,
    transition_step_id: data.transitionStepId,
    transition_cause: data.transitionCause,
    judged: data.judged,
    reflection: data.reflection,
    signal: data.signal,
    alpha: data.alpha,
    beta: data.beta,
    judge: judgeText(data.judge),
    content_hash: data.contentHash,
    state: 'composed',
    reached: null,
    threshold: null,
    reason: null,
    detail: null,
    at_step_id: null,
    composed_at: event.occurredAt,
    checked_at: null,
    log_offset: offset,
  };
}

export function outcomeRow({ data, occurredAt }: Envelope<'RevisionVerified' | 'RevisionRejected'>): OutcomeRow {
  const checked = { revision_id: data.revisionId, reached: data.reached, checked_at: occurredAt };
  if ('threshold' in data)
    return { ...checked, state: 'verified', threshold: data.threshold, reason: null, detail: null, at_step_id: null };
  const { reason, detail, stepId } = data;
  return { ...checked, state: 'rejected', threshold: null, reason, detail, at_step_id: stepId };
}
