import { textReader } from '../../blobs/read-text.ts';
import { findScorer } from '../../domain/reward/scorers.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { type Reward, shippedReward } from '../../environments/tool-env/open-reward.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { nothingLeft, readLeftOfRun } from '../../projections/forgetting/read-forgotten.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { type JudgedTree, readJudged } from '../../projections/rewards/read-judged.ts';
import { readReturnsOfTree } from '../../projections/rewards/read-rewards.ts';
import { readScorable, type ScorableTree } from '../../projections/rewards/read-scorable.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { countTrees } from '../../projections/step-tree/read-trees.ts';
import { collectPlan } from '../collect/plan.ts';
import { episodeOf, pathOf, type RewardOfTree } from '../collect/score-tree.ts';
import { compareLost, forgottenTrees, ReplayRefused } from '../replay/replay-environment.ts';
import { Comparison, comparePrompts, type ReplayReport } from '../replay/replay-report.ts';
import {
  changesOf,
  chooseEstimator,
  describeChange,
  estimateAdvantages,
  type RewardPair,
  recordedEstimator,
  type ScoredGroup,
  sumGroup,
} from './replay-scores-advantages.ts';
import {
  type CompressionOptions,
  comparePairs,
  currentBefore,
  payCompression,
  type ThresholdOptions,
} from './replay-scores-thresholds.ts';
import { openScorer, openTruth, profileOf, resolved, valueBy } from './score.ts';

/** Under what the record is scored: what it was scored by, or something else of it. */
export type ScoreReplayOptions =
  | { readonly kind: 'as-recorded' }
  /** `component`: what is replaced, as in `espalier score`. */
  | { readonly kind: 'scorer'; readonly scorer: string; readonly component: string | null }
  | { readonly kind: 'compression'; readonly compression: CompressionOptions }
  | { readonly kind: 'thresholds'; readonly thresholds: ThresholdOptions }
  | { readonly kind: 'estimator'; readonly name: string; readonly options: Readonly<Record<string, unknown>> };

export interface ScoresReplay {
  readonly runId: string;
  readonly asked: ScoreReplayOptions;
  /** In place of the environment of the run's plan, for the ground truth. */
  readonly environment: string | null;
  readonly signal: AbortSignal;
  readonly progress?: (trees: number, of: number) => void;
}

const SHOWN_GROUPS = 12;

/**
 * Scores a run over from its record and appends nothing but the report. As recorded: every reward of a registered scorer, and
 * every return, must come out again, and every prompt that a reply was scored by. Otherwise returns and advantages are compared,
 * rollout by rollout, with those under another scorer, other coefficients of compression or another estimator, or good
 * trajectories and pairs with those under other thresholds; notes say what changes in each group. @throws ReplayRefused for
 * names that are not there.
 */
export async function replayScores(platform: Platform, replay: ScoresReplay): Promise<ReplayReport> {
  const { db } = platform.database;
  const { runId, asked, signal } = replay;
  const run = await readRun(db, runId);
  if (!run) throw new ReplayRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  const comparison = new Comparison('scores');
  if (asked.kind === 'thresholds') {
    const resolve = textReader(platform.blobs);
    await comparePairs({ db, runId, asked: asked.thresholds, resolve, signal, progress: replay.progress }, comparison);
    return comparison.report();
  }
  const readsTexts = asked.kind === 'as-recorded' || asked.kind === 'scorer';
  const left = await readLeftOfRun(db, runId);
  const nothing = readsTexts ? nothingLeft(runId, left) : null;
  if (nothing !== null) throw new ReplayRefused(nothing);
  if (readsTexts && left.forgotten.size > 0) comparison.note(forgottenTrees(left.forgotten.size));
  const before = await recordedEstimator(db, runId);
  const after = asked.kind === 'estimator' ? chooseEstimator(asked.name, asked.options) : before;
  const plan = collectPlan.safeParse(run.config).data ?? null;
  const environment = replay.environment ?? plan?.environment ?? null;
  const scoring: Scoring = { platform, runId, environment, kind: null, comparison };
  const [trees = 0] = await countTrees(db, [{ runId }]);
  const groups: ScoredGroup[] = [];
  const reward = asked.kind === 'scorer' ? await openScorer(asked.scorer) : null;
  try {
    for await (const found of readScorable(db, runId)) {
      signal.throwIfAborted();
      if (readsTexts && left.forgotten.has(found.treeId)) continue;
      const tree = await resolved(platform, found);
      if (tree === 'unreadable') {
        compareLost(comparison, found.treeId);
        continue;
      }
      await comparePrompts(platform, tree.treeId, comparison);
      if (asked.kind === 'as-recorded') groups.push(await scoreAsRecorded(scoring, tree));
      else {
        const pairs =
          reward && asked.kind === 'scorer'
            ? await scoreBy(scoring, tree, reward, asked.component ?? reward.scorer?.name ?? asked.scorer)
            : asked.kind === 'compression'
              ? await payCompression(db, tree, plan, asked.compression)
              : inForce(tree);
        groups.push(await sumGroup(db, tree, pairs));
      }
      replay.progress?.(groups.length, trees);
    }
  } finally {
    await scoring.kind?.close();
    await reward?.close();
  }
  if (asked.kind !== 'as-recorded') compareGroups(comparison, groups, { before, after });
  return comparison.report();
}

interface Scoring {
  readonly platform: Platform;
  readonly runId: string;
  readonly environment: string | null;
  /** Opened when a scorer first asks for the truth. */
  kind: EnvironmentKind | null;
  readonly comparison: Comparison;
}

/** Returns the rewards of a tree as they stand, the same before and after. */
function inForce({ rewards }: ScorableTree): RewardPair[] {
  return rewards.map(({ value, ...reward }) => ({ ...reward, before: value, after: value }));
}

async function scoreBy(scoring: Scoring, tree: ScorableTree, reward: Reward, component: string): Promise<RewardPair[]> {
  const pairs = new Map(inForce(tree).map((pair) => [pair.rewardId, pair]));
  for (const rollout of tree.rollouts) {
    const after = await scoreRollout(scoring, tree, { rollout, reward, seen: tree.rewards });
    const { rolloutId, leafStepId } = rollout;
    const place = [...pairs.values()].find(
      (pair) =>
        pair.component === component && (pair.stepId === null ? pair.rolloutId === rolloutId : pair.stepId === leafStepId),
    );
    // the id that `espalier score` would give it
    const rewardId = place?.rewardId ?? derivedId<never>('reward', rolloutId, component);
    pairs.set(rewardId, place ? { ...place, after } : { rewardId, stepId: null, rolloutId, component, before: null, after });
  }
  return [...pairs.values()];
}

interface Scored {
  readonly rollout: ScorableTree['rollouts'][number];
  readonly reward: Reward;
  /** The rewards of the tree that the scorer may look at. */
  readonly seen: readonly RewardOfTree[];
}

async function scoreRollout(scoring: Scoring, tree: ScorableTree, { rollout, reward, seen }: Scored): Promise<number> {
  const needsTruth = reward.needs === 'ground-truth';
  if (needsTruth) scoring.kind ??= await openTruth(scoring.environment, scoring.runId, reward.fingerprint);
  const truth = needsTruth ? (scoring.kind?.groundTruth?.(tree.alias) ?? null) : null;
  const context = { profile: profileOf(scoring.environment), truth };
  const episode = episodeOf({ ...tree, rewards: seen }, pathOf(tree, rollout.leafStepId), rollout.success, context);
  return valueBy(reward, episode, rollout.rolloutId);
}

/**
 * Computes the rewards of registered scorers and all returns again, and compares them with the record. A scorer is shown the
 * other rewards as they were when it judged: what was said of them since is no reason to doubt what it said.
 */
async function scoreAsRecorded(scoring: Scoring, tree: ScorableTree): Promise<ScoredGroup> {
  const { comparison, platform } = scoring;
  let judged: JudgedTree | undefined;
  for (const reward of tree.rewards) {
    const scorer = findScorer(`${reward.scorer}@${reward.revision}`);
    const rollout = tree.rollouts.find(({ rolloutId, leafStepId }) =>
      reward.stepId === null ? reward.rolloutId === rolloutId : reward.stepId === leafStepId,
    );
    // A reward that the collector paid to a step is named by the step: its plan paid it, no registered scorer.
    const paid =
      reward.stepId !== null &&
      reward.rewardId === derivedId<never>('reward', reward.stepId, reward.component) &&
      reward.revisions === 0;
    if (!scorer || !rollout || paid) {
      comparison.note(
        `rewards by ${reward.scorer}@${reward.revision} are of no shipped scorer, and stay as recorded; \`replay environment\` asks the world again`,
      );
      continue;
    }
    judged ??= await readJudged(platform.database.db, tree.treeId);
    const judgement = judged.rewards.find(({ rewardId }) => rewardId === reward.rewardId)?.judgements[reward.revisions];
    const seen = judgement ? currentBefore(judged, reward.component, judgement) : tree.rewards;
    const value = await scoreRollout(scoring, tree, { rollout, reward: shippedReward(scorer), seen });
    const field = `${reward.component} by ${reward.scorer}@${reward.revision} of rollout ${rollout.rolloutId}`;
    comparison.compare({ eventId: judgement?.eventId ?? null, stepId: rollout.leafStepId, field }, reward.value, value);
  }
  const group = await sumGroup(platform.database.db, tree, inForce(tree));
  const returns = await readReturnsOfTree(platform.database.db, tree.treeId);
  for (const { rolloutId, leafStepId, after } of group.members)
    comparison.compare(
      { eventId: null, stepId: leafStepId, field: `return of rollout ${rolloutId}` },
      returns.get(rolloutId) ?? null,
      after,
    );
  return group;
}

function compareGroups(
  comparison: Comparison,
  groups: readonly ScoredGroup[],
  estimators: Parameters<typeof estimateAdvantages>[1],
): void {
  const advantages = estimateAdvantages(groups, estimators);
  for (const { treeId, members } of groups)
    for (const { rolloutId, leafStepId, before, after } of members) {
      const at = { eventId: null, stepId: leafStepId };
      comparison.compare({ ...at, field: `return of rollout ${rolloutId}` }, before, after);
      const pair = advantages.get(keyInTree(treeId, rolloutId));
      if (pair) comparison.compare({ ...at, field: `advantage of rollout ${rolloutId}` }, pair.before, pair.after);
    }
  const changes = changesOf(groups, advantages);
  const named = ({ name, mode }: { readonly name: string; readonly mode: unknown }) => `${name} ${JSON.stringify(mode)}`;
  comparison.note(
    `${changes.length} of ${groups.length} groups change; advantages of the whole run as one batch, by ${named(estimators.before)}${
      estimators.after === estimators.before ? '' : ` and by ${named(estimators.after)}`
    }`,
  );
  for (const change of changes.slice(0, SHOWN_GROUPS)) comparison.note(describeChange(change));
  if (changes.length > SHOWN_GROUPS) comparison.note(`… ${changes.length - SHOWN_GROUPS} more groups`);
}
