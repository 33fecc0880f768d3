import type { BlobStore } from '../../../blobs/blob-store.ts';
import { replyMessage } from '../../../domain/prompts/same-message.ts';
import { type LeafPath, pairPaths } from '../../../domain/revision/pair-paths.ts';
import type { PublishedFeedback } from '../../../domain/revision/published-rows.ts';
import { keepsForm, type RevisedTurn, splice } from '../../../domain/revision/splice.ts';
import { isGood, isWorse } from '../../../domain/revision/thresholds.ts';
import type { SearchedStep } from '../../../domain/search/search-tree.ts';
import { growTree, pathTo, type Tree } from '../../../domain/tree/grow-tree.ts';
import type { AnnotationRecord } from '../../../projections/annotations/read-annotations.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import type { MinedJudgement, MinedRevision } from '../../../projections/revisions/read-mined-revisions.ts';
import { revisionContentHash } from '../../../projections/revisions/revision-content.ts';
import type { RecordedRollout, RecordedTree, TreeHead } from '../../../projections/trajectories/recorded-tree.ts';
import type { Selected } from '../../../projections/trajectories/select-trajectories.ts';
import { annotationsOn } from '../export/export-trajectory.ts';
import type { RowOrigin } from '../export/row-metadata.ts';
import { resolveReply, resolveTexts } from '../export/stream-trajectories.ts';
import type { RowParameters } from './row-options.ts';
import type { TrainingRow } from './training-row.ts';

/** What a row takes from outside its tree. */
export interface RowContext {
  readonly revisions: readonly MinedRevision[];
  readonly judgements: readonly MinedJudgement[];
  readonly annotations: readonly AnnotationRecord[];
  readonly system: string | null;
  readonly acknowledgement: string | null;
  readonly prompts: ReadonlyMap<string, RecordedPrompt>;
  readonly config: unknown;
}

/**
 * Makes the examples of one tree: good trajectories, the best first; then revisions by content; or pairs in the order of the
 * rewards.
 */
export function composeRows(mined: MinedTree, context: RowContext, parameters: RowParameters): readonly TrainingRow[] {
  const { data, thresholds } = parameters;
  const { good, pairs } = pairPaths(mined.tree, thresholds);
  if (data === 'pairs') {
    return pairs.map(({ good: best, bad, branch }) => ({
      ...commonOf(mined, context),
      kind: 'pair',
      isAltered: false,
      turns: trained(mined, best.steps),
      pair: { good: best.steps, bad: bad.steps, branch },
      feedback: null,
      source: sourceOf(mined, context, parameters, { kind: 'pair', good: best, bad }),
      rollouts: rolloutsOf(mined, best, bad),
    }));
  }
  const rows = data === 'revisions' ? [] : good.map((path) => goodRowOf(mined, context, path, parameters));
  if (data === 'good') return rows;
  return [...rows, ...context.revisions.flatMap((revision) => revisionRowOf(mined, context, revision, parameters))];
}

function goodRowOf(mined: MinedTree, context: RowContext, path: LeafPath, parameters: RowParameters): TrainingRow {
  return {
    ...commonOf(mined, context),
    kind: 'good',
    isAltered: false,
    turns: trained(mined, path.steps),
    pair: null,
    feedback: null,
    source: sourceOf(mined, context, parameters, { kind: 'good', good: path, bad: null }),
    rollouts: rolloutsOf(mined, path, null),
  };
}

/**
 * Makes the turns of a revision again. None when its leaves do not fit the thresholds asked for or are not among the chosen
 * rollouts, or when it was recorded with a reflection that breaks the form of the reply which would be trained on.
 */
function revisionRowOf(
  mined: MinedTree,
  context: RowContext,
  revision: MinedRevision,
  parameters: RowParameters,
): readonly TrainingRow[] {
  const good = leafPathOf(mined, revision.goodLeafStepId);
  const bad = leafPathOf(mined, revision.badLeafStepId);
  if (!good || !bad || !isGood(good.average, parameters.thresholds) || !isWorse(bad.average, good.average, parameters.thresholds))
    return [];
  const root = mined.tree.root.step.stepId;
  const branch = revision.branchStepId === root ? 0 : indexOf(bad, revision.branchStepId) + 1;
  if (!keepsForm(revision.signal, good.steps[branch]?.response ?? '')) return [];
  const pair = { good: good.steps, bad: bad.steps, branch };
  const turns = splice(pair, indexOf(bad, revision.transitionStepId), revision.reflection, revision.signal);
  const judgements = judgementsOf(context, revision);
  const thresholds = { alpha: revision.alpha, beta: revision.beta };
  const source = sourceOf(mined, context, { thresholds }, { kind: 'revision', good, bad, revisionId: revision.revisionId });
  return [
    {
      ...commonOf(mined, context),
      kind: 'revision',
      isAltered: isAltered(mined, revision, turns),
      turns: masked(mined, turns),
      pair,
      feedback: revision.transitionCause === 'direct' ? null : judgements.map((judgement) => feedbackOf(bad, judgement)),
      source: {
        ...source,
        revision: revision.revisionId,
        state: revision.state,
        steps: turns.length,
        scores: { ...source.scores, reached: revision.reached },
        judge: revision.judge,
        judgements: judgements.map(({ judgementId }) => judgementId),
      },
      rollouts: rolloutsOf(mined, good, bad),
    },
  ];
}

/** The tree must still be the one that the revision was composed from, or what was verified is not what would be trained on. */
function isAltered({ head, firstObservation }: MinedTree, revision: MinedRevision, turns: readonly RevisedTurn[]): boolean {
  return revisionContentHash({ instruction: head.instruction, firstObservation }, turns) !== revision.contentHash;
}

function commonOf(
  { head, firstObservation, pictures, tree }: MinedTree,
  { system, acknowledgement, prompts, config }: RowContext,
) {
  const { taskId, alias, environment, instruction } = head;
  const firstPictures = pictures.get(tree.root.step.stepId) ?? [];
  const opening = { instruction, firstObservation, firstPictures, pictures };
  return { taskId, alias, environment, ...opening, system, acknowledgement, prompts, config };
}

/** What a row is made of. */
interface Made {
  readonly kind: RowOrigin['kind'];
  readonly good: LeafPath;
  readonly bad: LeafPath | null;
  readonly revisionId?: string;
}

function sourceOf(
  { head, endedAt }: MinedTree,
  { annotations }: RowContext,
  { thresholds }: Pick<RowParameters, 'thresholds'>,
  { kind, good, bad, ...revised }: Made,
): RowOrigin {
  const ended = rolloutsOf({ endedAt }, good, bad);
  const on = (rolloutId: string, { steps }: LeafPath, of: Pick<Made, 'revisionId'> = {}) =>
    annotationsOn(annotations, { rolloutId, stepIds: new Set(steps.map(({ stepId }) => stepId)), ...of });
  const rollout = endedAt.get(good.leafStepId);
  return {
    kind,
    trajectory: ended.good,
    leaf: good.leafStepId,
    rejected: ended.bad,
    rejectedLeaf: bad?.leafStepId ?? null,
    tree: head.treeId,
    run: head.runId,
    task: { id: head.taskId, alias: head.alias, goal: head.goal, depth: head.taskDepth, split: head.split },
    environment: { name: head.environment, fingerprint: head.serverFingerprint },
    policy: { id: rollout?.policyId ?? '', version: rollout?.policyVersion ?? 0 },
    ordinal: rollout?.ordinal ?? 0,
    outcome: rollout?.outcome ?? '',
    success: rollout?.success ?? null,
    steps: good.steps.length,
    revision: null,
    state: null,
    judge: null,
    judgements: [],
    annotations: on(ended.good, good, revised),
    rejectedAnnotations: bad && ended.bad !== null ? on(ended.bad, bad) : [],
    scores: { good: good.average, bad: bad?.average ?? null, ...thresholds },
  };
}

function rolloutsOf({ endedAt }: Pick<MinedTree, 'endedAt'>, good: LeafPath, bad: LeafPath | null): TrainingRow['rollouts'] {
  const ended = ({ leafStepId }: LeafPath) => {
    const rollout = endedAt.get(leafStepId);
    if (!rollout) throw new RangeError(`no chosen rollout ended at ${leafStepId}`);
    return rollout.rolloutId;
  };
  return { good: ended(good), bad: bad && ended(bad) };
}

function trained(mined: MinedTree, steps: readonly SearchedStep[]): readonly RevisedTurn[] {
  return masked(
    mined,
    steps.map(({ stepId, response, message, observation }) => ({
      part: 'good',
      stepId,
      response,
      ...(message ? { message } : {}),
      observation,
      loss: true,
    })),
  );
}

function masked({ untrained }: MinedTree, turns: readonly RevisedTurn[]): readonly RevisedTurn[] {
  return turns.map((turn) => (turn.stepId !== null && untrained.has(turn.stepId) ? { ...turn, loss: false } : turn));
}

function leafPathOf({ tree, endedAt }: MinedTree, leafStepId: string): LeafPath | null {
  if (!endedAt.has(leafStepId)) return null;
  const steps = pathTo(tree, leafStepId).slice(1);
  const leaf = steps.at(-1);
  return leaf ? { steps, leafStepId, average: leaf.visits === 0 ? 0 : leaf.valueSum / leaf.visits } : null;
}

function indexOf({ steps, leafStepId }: LeafPath, stepId: string): number {
  const index = steps.findIndex((step) => step.stepId === stepId);
  if (index < 0) throw new RangeError(`step ${stepId} does not lie on the trajectory that ends at ${leafStepId}`);
  return index;
}

function judgementsOf({ judgements }: RowContext, { judge, badLeafStepId, judged }: MinedRevision): readonly MinedJudgement[] {
  return judgements.filter(
    (judgement) => judgement.judge === judge && judgement.leafStepId === badLeafStepId && judgement.stepIndex < judged,
  );
}

function feedbackOf({ steps }: LeafPath, { stepIndex, verdict, reply }: MinedJudgement): PublishedFeedback {
  const step = steps[stepIndex];
  return { revision_feedback: reply, action: step?.action ?? '', obs: step?.observation ?? '', judgement: verdict };
}

/**
 * A recorded tree as mining sees it: every trajectory that ended with what it was worth, whether a search grew it or rollouts
 * side by side.
 */
export interface MinedTree {
  readonly head: TreeHead;
  readonly firstObservation: string;
  /** Ids of the pictures of observations, by the step. */
  readonly pictures: ReadonlyMap<string, readonly string[]>;
  readonly tree: Tree<SearchedStep>;
  /** The rollout that ended at a leaf. */
  readonly endedAt: ReadonlyMap<string, RecordedRollout>;
  /** Steps that the policy of their trajectory did not write: never trained on. */
  readonly untrained: ReadonlySet<string>;
  readonly leftOut: MinedLeftOut;
}

/** Chosen rollouts that are neither good nor bad: they failed or were cancelled, or nobody rewarded them. */
export interface MinedLeftOut {
  readonly unfinished: number;
  readonly unrewarded: number;
}

/** Reads a tree for mining: its texts resolved, the chosen rollouts counted as visits. @throws DatasetError `blob`. */
export async function mineTree(
  recorded: RecordedTree,
  selected: readonly Selected[],
  blobs: Pick<BlobStore, 'get'>,
  pictures: MinedTree['pictures'],
): Promise<MinedTree> {
  const endedAt = new Map<string, RecordedRollout>();
  const counts = new Map<string, { visits: number; valueSum: number }>();
  const leftOut = { unfinished: 0, unrewarded: 0 };
  for (const { rolloutId, returnValue } of selected) {
    const rollout = recorded.rollouts.get(rolloutId);
    if (rollout?.outcome !== 'terminated' && rollout?.outcome !== 'truncated') {
      leftOut.unfinished += 1; // what failed or was cancelled says nothing of its policy
      continue;
    }
    if (rollout.leafStepId === null || endedAt.has(rollout.leafStepId)) continue; // a leaf that was reached twice is one trajectory
    if (returnValue === null) {
      leftOut.unrewarded += 1; // unknown is not 0, which would be bad
      continue;
    }
    endedAt.set(rollout.leafStepId, rollout);
    for (const { stepId } of pathTo(recorded.tree, rollout.leafStepId)) {
      const { visits, valueSum } = counts.get(stepId) ?? { visits: 0, valueSum: 0 };
      // A disaster counts as nothing, as in the search (specification of Agent-R, §1.5).
      counts.set(stepId, { visits: visits + 1, valueSum: valueSum + Math.max(0, returnValue) });
    }
  }
  const place = `tree ${recorded.head.treeId}`;
  const rows: SearchedStep[] = [];
  const untrained = new Set<string>();
  let firstObservation = '';
  for (const { step, parent } of recorded.tree.nodes.values()) {
    const resolved = await resolveTexts(step, blobs, `${place} step ${step.stepId}`);
    if (parent === null) firstObservation = resolved.observation;
    else if (!step.policySpans.some(({ policyId }) => [...endedAt.values()].some((rollout) => rollout.policyId === policyId)))
      untrained.add(step.stepId);
    rows.push({
      stepId: step.stepId,
      parentStepId: step.parentStepId,
      response: resolved.response,
      ...(resolved.reply
        ? { message: replyMessage({ ...resolved, reply: await resolveReply(resolved.reply, blobs, place) }) }
        : {}),
      action: resolved.action,
      observation: parent === null ? '' : resolved.observation,
      score: 0,
      disaster: false,
      terminal: endedAt.has(step.stepId),
      ...(counts.get(step.stepId) ?? { visits: 0, valueSum: 0 }),
    });
  }
  const head = await resolveTexts(recorded.head, blobs, place);
  return { head, firstObservation, pictures, tree: growTree(rows), endedAt, untrained, leftOut };
}
