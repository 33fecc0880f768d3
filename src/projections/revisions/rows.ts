import type { Delivery, Envelope } from '../../events/envelope.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that the events of revision mining become. */

export function judgementRow({ event, offset }: Delivery<Envelope<'StepJudged'>>): Row<typeof tables.judgements> {
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

export type RevisionRow = Row<typeof tables.revisions>;
/** What became of a revision: the columns that its second event fills. */
export type OutcomeRow = Pick<
  RevisionRow,
  'revision_id' | 'state' | 'reached' | 'threshold' | 'reason' | 'detail' | 'at_step_id' | 'checked_at'
>;
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
