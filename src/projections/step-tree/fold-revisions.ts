import type { Delivery, Envelope } from '../../events/envelope.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Row } from '../../postgres/table.ts';
import { keyInTree } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import type { TreeState } from './load-tree-state.ts';
import { missingStep, type Refusal } from './refusals.ts';
import type { tables } from './tables.ts';

/** The rows that a batch becomes of what is mined from trees. */
export interface RevisionRows {
  readonly judgements: ReturnType<typeof judgementRow>[];
  readonly revisions: RevisionRow[];
  readonly outcomes: OutcomeRow[];
}

/**
 * Folds judgements and revisions. A revision is made of two paths of its tree that part at its branch, and keeps the bad one up to
 * a step behind it; it is verified or rejected once. What breaks this goes to quarantine.
 */
export function foldRevision(delivery: Delivery, known: TreeState, rows: RevisionRows): Refusal | undefined {
  if (isOf(delivery, 'StepJudged')) rows.judgements.push(judgementRow(delivery));
  if (isOf(delivery, 'RevisionComposed')) {
    const row = revisionRow(delivery);
    const key = keyInTree(row.treeId, row.revisionId);
    if (known.revisions.has(key)) return undefined; // requeued, and folded before
    const refused = refuseParts(delivery.event, known);
    if (refused) return refused;
    known.revisions.set(key, row.state);
    rows.revisions.push(row);
  }
  if (isOf(delivery, 'RevisionVerified') || isOf(delivery, 'RevisionRejected')) {
    const { treeId, revisionId } = delivery.event.data;
    const key = keyInTree(treeId, revisionId);
    const state = known.revisions.get(key);
    if (state === undefined)
      return {
        code: 'missing-revision',
        field: 'data.revisionId',
        reason: `tree ${treeId} has no revision ${revisionId}; append its RevisionComposed first`,
      };
    if (state !== 'composed')
      return {
        code: 'conflict',
        field: 'data.revisionId',
        reason: `revision ${revisionId} was ${state} before; compose another to execute it again`,
      };
    const outcome = outcomeRow(delivery.event);
    known.revisions.set(key, outcome.state);
    rows.outcomes.push(outcome);
  }
  return undefined;
}

/** Returns why a revision cannot be spliced from the tree, if it cannot. */
function refuseParts({ data }: Envelope<'RevisionComposed'>, state: TreeState): Refusal | undefined {
  const { treeId, branchStepId, transitionStepId } = data;
  for (const field of ['goodLeafStepId', 'badLeafStepId', 'branchStepId', 'transitionStepId'] as const)
    if (!state.steps.has(keyInTree(treeId, data[field]))) return missingStep(`data.${field}`, data[field], treeId);
  const bad = pathTo(treeId, data.badLeafStepId, state);
  const [branch, transition] = [bad.indexOf(branchStepId), bad.indexOf(transitionStepId)];
  if (branch < 0)
    return {
      code: 'range',
      field: 'data.branchStepId',
      reason: `step ${branchStepId} is not on the path to ${data.badLeafStepId}, the bad leaf; name the last step that both paths share`,
    };
  if (transition <= branch)
    return {
      code: 'range',
      field: 'data.transitionStepId',
      reason: `step ${transitionStepId} is not behind the branch on the path to ${data.badLeafStepId}, the bad leaf; name the last step of that path that the revision keeps`,
    };
  return undefined;
}

/** Lists the steps from the root to a step. */
function pathTo(treeId: string, stepId: string, { steps }: TreeState): readonly string[] {
  const path: string[] = [];
  for (let id: string | null = stepId; id !== null; id = steps.get(keyInTree(treeId, id))?.parentId ?? null) path.push(id);
  return path.reverse();
}

/** The rows that the events of revision mining become. */

function judgementRow({ event, offset }: Delivery<Envelope<'StepJudged'>>): Row<typeof tables.judgements> {
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

type RevisionRow = Row<typeof tables.revisions>;
/** What became of a revision: the columns that its second event fills. */
type OutcomeRow = Pick<
  RevisionRow,
  'revisionId' | 'treeId' | 'state' | 'reached' | 'threshold' | 'reason' | 'detail' | 'atStepId' | 'checkedAt'
>;
function revisionRow({ event, offset }: Delivery<Envelope<'RevisionComposed'>>): RevisionRow {
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

function outcomeRow({ data, occurredAt }: Envelope<'RevisionVerified' | 'RevisionRejected'>): OutcomeRow {
  const checked = { revisionId: data.revisionId, treeId: data.treeId, reached: data.reached, checkedAt: occurredAt };
  if ('threshold' in data)
    return { ...checked, state: 'verified', threshold: data.threshold, reason: null, detail: null, atStepId: null };
  const { reason, detail, stepId } = data;
  return { ...checked, state: 'rejected', threshold: null, reason, detail, atStepId: stepId };
}
