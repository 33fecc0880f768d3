import { isLostBlob } from '../../blobs/blob-store.ts';
import { factorReward, isRewarded, readFactor } from '../../domain/compression/factor-reward.ts';
import { type Pairing, pairPaths } from '../../domain/revision/pair-paths.ts';
import { refuseThresholds, THRESHOLD_DEFAULTS, type Thresholds } from '../../domain/revision/thresholds.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import { readJudgements } from '../../projections/revisions/read-judgements.ts';
import { type RevisionRecord, readLastThresholds, readRevisions } from '../../projections/revisions/read-revisions.ts';
import {
  type ResolveText,
  readSearchedTrees,
  readTreeIds,
  type SearchedTree,
} from '../../projections/revisions/read-searched-trees.ts';
import type { JudgedTree, Judgement } from '../../projections/rewards/read-judged.ts';
import type { ScorableTree } from '../../projections/rewards/read-scorable.ts';
import { readStepTakers } from '../../projections/step-tree/read-steps.ts';
import type { collectPlan } from '../collect/plan.ts';
import { iterationOf } from '../collect/prompting/prompt-plan.ts';
import type { RewardOfTree } from '../collect/score-tree.ts';
import { compareLost, ReplayRefused } from '../replay/replay-environment.ts';
import type { Comparison } from '../replay/replay-report.ts';
import type { RewardPair } from './replay-scores-advantages.ts';

/**
 * What a good trajectory must reach, and by how much a bad one must be worse; null keeps what the run's revisions were mined
 * by.
 */
export interface ThresholdOptions {
  readonly alpha: number | null;
  readonly beta: number | null;
}

interface Pairs {
  readonly db: Db;
  readonly runId: string;
  readonly asked: ThresholdOptions;
  readonly resolve: ResolveText;
  readonly signal: AbortSignal;
  readonly progress?: ((trees: number, of: number) => void) | undefined;
}

const TREES_AT_ONCE = 16;
const SHOWN_TREES = 12;

/**
 * Pairs the trajectories of every tree of a run by the thresholds that its revisions were mined by (those of the last one; the
 * defaults where it has none) and by others, both over the rewards in force: compares which are good, and which make a pair, and
 * notes per tree what becomes of its revisions.
 * @throws ReplayRefused for thresholds that no reward of 0..1 can mean.
 */
export async function comparePairs(
  { db, runId, asked, resolve, signal, progress }: Pairs,
  comparison: Comparison,
): Promise<void> {
  const recorded = await readLastThresholds(db, runId);
  const before = recorded ?? THRESHOLD_DEFAULTS;
  const after = { alpha: asked.alpha ?? before.alpha, beta: asked.beta ?? before.beta };
  const wrong = refuseThresholds(after);
  if (wrong !== null) throw new ReplayRefused(wrong);
  const ids = await readTreeIds(db, runId);
  const changed: string[] = [];
  let gone = 0;
  for (let from = 0; from < ids.length; from += TREES_AT_ONCE) {
    signal.throwIfAborted();
    const piece = ids.slice(from, from + TREES_AT_ONCE);
    const lost = new Set<string>();
    const trees = await readSearchedTrees(db, piece, (sha256, size, treeId) =>
      resolve(sha256, size, treeId).catch((error: unknown) => {
        if (!isLostBlob(error)) throw error;
        lost.add(treeId);
        return '';
      }),
    );
    for (const treeId of lost) compareLost(comparison, treeId);
    const revisions = (await readRevisions(db, piece)).filter(
      ({ alpha, beta }) => alpha === before.alpha && beta === before.beta,
    );
    const judged = new Set((await readJudgements(db, piece)).map(({ leafStepId }) => leafStepId));
    for (const tree of trees.values()) {
      if (lost.has(tree.treeId)) continue;
      const of = revisions.filter(({ treeId }) => treeId === tree.treeId);
      const states = { before: pairPaths(tree.tree, before), after: pairPaths(tree.tree, after) };
      gone += unpaired(of, states.before).length;
      if (!compareTree(comparison, states)) changed.push(describeTree(tree, states, of, judged));
    }
    progress?.(Math.min(from + piece.length, ids.length), ids.length);
  }
  const whose = recorded ? 'by which it was mined' : 'the defaults: nothing was mined from it';
  comparison.note(`${changed.length} of ${ids.length} trees change from ${written(before)} (${whose}) to ${written(after)}`);
  if (gone > 0)
    comparison.note(
      `${gone} recorded revisions are of no pair any more, by the thresholds they were mined by: rewards were judged again since they were mined`,
    );
  for (const change of changed.slice(0, SHOWN_TREES)) comparison.note(change);
  if (changed.length > SHOWN_TREES) comparison.note(`… ${changed.length - SHOWN_TREES} more trees`);
}

interface States {
  readonly before: Pairing;
  readonly after: Pairing;
}

/**
 * Compares every trajectory that is good, and every pair, by either thresholds; says whether all of them are the same by both.
 */
function compareTree(comparison: Comparison, { before, after }: States): boolean {
  const differing = comparison.differing;
  const good = { before: goodOf(before), after: goodOf(after) };
  const isGood = (is: boolean) => (is ? 'good' : 'not good');
  for (const leaf of new Set([...good.before, ...good.after])) {
    const at = { eventId: null, stepId: leaf, field: 'trajectory to this leaf' };
    comparison.compare(at, isGood(good.before.has(leaf)), isGood(good.after.has(leaf)));
  }
  const pairs = { before: new Set(namesOf(before)), after: new Set(namesOf(after)) };
  const isPair = (is: boolean) => (is ? 'a pair' : 'no pair');
  for (const pair of new Set([...pairs.before, ...pairs.after])) {
    const [goodLeaf = '', badLeaf = ''] = pair.split(' ');
    const at = { eventId: null, stepId: badLeaf, field: `with the good trajectory to ${goodLeaf}` };
    comparison.compare(at, isPair(pairs.before.has(pair)), isPair(pairs.after.has(pair)));
  }
  return comparison.differing === differing;
}

/** Returns the revisions that were mined from a pair which is none by what the trajectories earn now. */
function unpaired(revisions: readonly RevisionRecord[], pairing: Pairing): readonly RevisionRecord[] {
  const pairs = new Set(namesOf(pairing));
  return revisions.filter(({ goodLeafStepId, badLeafStepId }) => !pairs.has(nameOf(goodLeafStepId, badLeafStepId)));
}

function describeTree(
  { treeId, alias }: SearchedTree,
  { before, after }: States,
  revisions: readonly RevisionRecord[],
  judged: ReadonlySet<string>,
): string {
  const lost = unpaired(revisions, after);
  const verified = lost.filter(({ state }) => state === 'verified').length;
  const unjudged = after.bad.filter(({ leafStepId }) => !judged.has(leafStepId)).length;
  const counts = `good ${before.good.length} → ${after.good.length}, pairs ${before.pairs.length} → ${after.pairs.length}`;
  return `tree ${treeId} (${cutText(alias, 60)}): ${counts}; ${lost.length} of its ${revisions.length} revisions (${verified} verified) would not be mined; bad trajectories that nobody judged: ${unjudged}`;
}

function goodOf({ good }: Pairing): ReadonlySet<string> {
  return new Set(good.map(({ leafStepId }) => leafStepId));
}

function namesOf({ pairs }: Pairing): readonly string[] {
  return pairs.map(({ good, bad }) => nameOf(good.leafStepId, bad.leafStepId));
}

function nameOf(goodLeafStepId: string, badLeafStepId: string): string {
  return `${goodLeafStepId} ${badLeafStepId}`;
}

function written({ alpha, beta }: Thresholds): string {
  return `α ${alpha}, β ${beta}`;
}

/** What compression is to pay in place of what the plan says; null keeps that. */
export interface CompressionOptions {
  readonly lambda: number | null;
  readonly mu: number | null;
  /** K of the schedule. */
  readonly every: number | null;
}

const COMPONENT = 'compression';

/**
 * Pays every rollout of a tree for the factors of its answers by other coefficients: a step is paid by the outcome of the rollout
 * that took it, its last step by nothing. The iteration is the plan's; a run without a compression plan is paid as if the
 * schedule were on.
 */
export async function payCompression(
  db: Db,
  tree: ScorableTree,
  plan: ReturnType<typeof collectPlan.parse> | null,
  options: CompressionOptions,
): Promise<RewardPair[]> {
  const recorded = plan?.prompt?.compression ?? null;
  const [lambda, mu] = [options.lambda ?? recorded?.lambda ?? 0.01, options.mu ?? recorded?.mu ?? 0]; // 0.01 and 0: as published
  const every = options.every ?? recorded?.every ?? 1;
  const pairs: RewardPair[] = tree.rewards.map(({ value, ...reward }) => ({
    ...reward,
    before: value,
    after: reward.component === COMPONENT ? null : value,
  }));
  const places = new Map(
    pairs.flatMap((pair, i) => (pair.component === COMPONENT && pair.stepId !== null ? [[pair.stepId, i]] : [])),
  );
  for (const { rolloutId, stepId, policyVersion } of await readStepTakers(db, tree.treeId)) {
    const rollout = tree.rollouts.find((each) => each.rolloutId === rolloutId);
    const step = tree.steps.get(stepId);
    if (!rollout || !step) continue; // of a rollout that failed: nobody is paid
    const { factor } = readFactor(step.response);
    const active = recorded === null || isRewarded(every, iterationOf(recorded, policyVersion));
    const given = { factor, success: rollout.success === true, active, endsEpisode: stepId === rollout.leafStepId };
    const after = factorReward(given, { lambda, mu });
    const i = places.get(stepId);
    const pair = i === undefined ? undefined : pairs[i];
    if (i !== undefined && pair) pairs[i] = { ...pair, after };
    else if (after !== 0) {
      const rewardId = derivedId<never>('reward', stepId, COMPONENT); // the id that the collector would give it
      pairs.push({ rewardId, stepId, rolloutId, component: COMPONENT, before: null, after });
    }
  }
  return pairs;
}

/**
 * Returns the rewards of a tree as a scorer saw them when it made a judgement of a component: by what was said before it, but for
 * what the scorer said of that component itself: a pass scores a whole tree before it records anything.
 */
export function currentBefore(
  { rewards }: JudgedTree,
  component: string,
  { offset, scorer }: Judgement,
): readonly RewardOfTree[] {
  return rewards.flatMap((reward) => {
    const seen = reward.judgements.findLast(
      // a tree lies in one partition
      (each) => each.offset < offset && !(each.scorer === scorer && reward.component === component),
    );
    return seen ? [{ component: reward.component, stepId: reward.stepId, value: seen.value }] : [];
  });
}
