import type { Delivery, Envelope } from '../../events/envelope.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that the events of revision mining become. */

export function judgementRow({ event, offset }: Delivery<Envelope<'StepJudged'>>): Row<typeof tables.judgements> {
  const { data } = event;
  return {
    judgementId: event.id,
    treeId: data.treeId,
    runId: event.correlationId,
    leafStepId: data.leafStepId,
    stepId: data.stepId,
    stepIndex: data.index,
    judge: judgeText(data.judge),
    promptHash: data.promptHash,
    verdict: data.verdict,
    reply: typeof data.reply === 'string' ? data.reply : '',
    reusedFrom: event.causationId,
    judgedAt: event.occurredAt,
    logOffset: offset,
    blobs: typeof data.reply === 'string' ? null : { reply: data.reply },
  };
}

export type RevisionRow = Row<typeof tables.revisions>;
/** What became of a revision: the columns that its second event fills. */
export type OutcomeRow = Pick<
  RevisionRow,
  'revisionId' | 'treeId' | 'state' | 'reached' | 'threshold' | 'reason' | 'detail' | 'atStepId' | 'checkedAt'
>;
export function revisionRow({ event, offset }: Delivery<Envelope<'RevisionComposed'>>): RevisionRow {
  const { data } = event;
  return {
    revisionId: data.revisionId,
    treeId: data.treeId,
    runId: event.correlationId,
    goodLeafStepId: data.goodLeafStepId,
    badLeafStepId: data.badLeafStepId,
    branchStepId: data.branchStepId,
    transitionStepId: data.transitionStepId,
    transitionCause: data.transitionCause,
    judged: data.judged,
    reflection: data.reflection,
    signal: data.signal,
    alpha: data.alpha,
    beta: data.beta,
    judge: judgeText(data.judge),
    contentHash: data.contentHash,
    state: 'composed',
    reached: null,
    threshold: null,
    reason: null,
    detail: null,
    atStepId: null,
    composedAt: event.occurredAt,
    checkedAt: null,
    logOffset: offset,
  };
}

export function outcomeRow({ data, occurredAt }: Envelope<'RevisionVerified' | 'RevisionRejected'>): OutcomeRow {
  const checked = { revisionId: data.revisionId, treeId: data.treeId, reached: data.reached, checkedAt: occurredAt };
  if ('threshold' in data)
    return { ...checked, state: 'verified', threshold: data.threshold, reason: null, detail: null, atStepId: null };
  const { reason, detail, stepId } = data;
  return { ...checked, state: 'rejected', threshold: null, reason, detail, atStepId: stepId };
}
