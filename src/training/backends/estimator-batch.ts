import type { EstimatorBatch, Readiness, StepPart } from '../../domain/training/advantages/estimator.ts';
import { parseRejectionRules, type RolloutCorrection } from '../../domain/training/correction/correct-rollouts.ts';
import { adjustController, type KlController, penaliseRewards } from '../../domain/training/kl/kl-penalty.ts';
import { addRewards, normaliseOverBatch, placeToolRewards } from '../../domain/training/process/process-rewards.ts';
import { at, type Rows, rowAt } from '../../domain/training/rows/rows.ts';
import { positionsByKey } from '../../domain/training/statistics/groups.ts';
import { sumOf } from '../../domain/training/statistics/masked.ts';
import { type StepRow, trajectoryOf } from './step-row.ts';
import type { ProcessRewardSettings, TrainingSettings } from './training-settings.ts';

/** What an estimator sees of a step besides what weights say of it. */
export type EstimatedStep = Pick<StepRow, 'groupId' | 'rolloutId' | 'step' | 'reward' | 'stateHash' | 'greedyScore' | 'parts'>;

/** The token columns of a batch; null where nobody read them. */
export interface TokenReadings {
  readonly rewards: Rows;
  readonly values?: Rows | null;
  /** V of the state after a row that a limit cut off, 0 elsewhere. */
  readonly bootstraps?: Float64Array | null;
  readonly oldLogProbs?: Rows | null;
  readonly squaredProbs?: Rows | null;
  readonly rolloutWeights?: Rows | null;
}

/**
 * Puts together what an estimator reads: a row for each step, all tokens of which were sampled. Where it asks for step rewards
 * next to the episode's score, every row carries the score of its trajectory on its last token.
 */
export function estimatorBatch(
  { columns }: Readiness,
  rows: readonly EstimatedStep[],
  { rewards, ...readings }: TokenReadings,
): EstimatorBatch {
  const anchors = rows.map(({ stateHash }) => stateHash);
  const greedy = rows.map(({ greedyScore }) => greedyScore);
  const byEpisode = columns.includes('stepRewards');
  return {
    rewards: byEpisode ? episodeScores(rows, rewards) : rewards,
    masks: rewards.map((row) => new Uint8Array(row.length).fill(1)),
    groups: rows.map(({ groupId }) => groupId),
    trajectories: rows.map(trajectoryOf),
    steps: rows.map(({ step }) => step),
    values: readings.values ?? null,
    bootstraps: readings.bootstraps ?? null,
    anchors: anchors.every((hash) => hash !== null) ? anchors : null,
    stepRewards: byEpisode ? rewards.map((row) => sumOf(row)) : null,
    stepParts: columns.includes('stepParts') ? stepPartsOf(rows) : null,
    greedyScores: greedy.every((score) => score !== undefined) ? greedy : null,
    oldLogProbs: readings.oldLogProbs ?? null,
    squaredProbs: readings.squaredProbs ?? null,
    rolloutWeights: readings.rolloutWeights ?? null,
  };
}

/** Components that a step gets for itself, and not for what its episode comes to. */
const OWN = ['compression', 'invalid-action'];

function stepPartsOf(rows: readonly EstimatedStep[]): readonly StepPart[] | null {
  if (rows.some(({ parts }) => parts === undefined)) return null;
  return OWN.map((component) => {
    const own = rows.map(({ parts = [] }) => parts.filter((part) => part.component === component && part.of === 'step'));
    const values = Float64Array.from(own, (found) => sumOf(found.map(({ value }) => value)));
    return { component, values, weight: own.flat()[0]?.weight ?? 0 }; // one weight for a component of a batch
  });
}

function episodeScores(rows: readonly EstimatedStep[], rewards: Rows): Float64Array[] {
  const totals = new Map<string, number>();
  for (const [i, row] of rows.entries())
    totals.set(trajectoryOf(row), (totals.get(trajectoryOf(row)) ?? 0) + sumOf(rowAt(rewards, i)));
  return rows.map((row, i) => {
    const scores = new Float64Array(rowAt(rewards, i).length);
    scores[scores.length - 1] = totals.get(trajectoryOf(row)) ?? 0; // every rollout was summed
    return scores;
  });
}

/** Reads the correction of rollouts that is declared; null for none. */
export function correctionOf({ correction }: Pick<TrainingSettings, 'correction'>): RolloutCorrection | null {
  const { weights = null, rejection } = correction ?? {};
  if (weights === null && rejection === undefined) return null;
  return { weights, rejection: rejection === undefined ? [] : parseRejectionRules(rejection.rules, rejection.bounds) };
}

interface PenalisedBatch {
  readonly rewards: Rows;
  /** The coefficient that the next update begins with; null where it is fixed: then the settings say it. */
  readonly nextCoefficient: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Whether the rewards of a batch depend on the weights: a KL penalty is taken from them. */
export function penalisesRewards({ kl }: Pick<TrainingSettings, 'kl'>): boolean {
  return kl?.in === 'reward';
}

/**
 * Takes the KL penalty from the token rewards of a batch, with the coefficient from before it, and moves that where it is
 * adaptive. @param coefficient the one that the update before left behind; null: the one of the settings. @param refLogProbs of
 * version 0, like the others 0 on no token: all tokens of the rows were sampled.
 */
export function penaliseBatch(
  columns: { readonly scores: Rows; readonly logProbs: Rows; readonly refLogProbs: Rows },
  kl: NonNullable<TrainingSettings['kl']>,
  coefficient: number | null,
): PenalisedBatch {
  const masks = columns.scores.map((row) => new Uint8Array(row.length).fill(1));
  const beta = coefficient ?? kl.coefficient;
  const { rewards, currentKl } = penaliseRewards({ ...columns, masks }, kl.kind, beta, kl.logRatios);
  const controller: KlController = kl.controller ? { ...kl.controller, beta } : { kind: 'fixed', beta };
  return {
    rewards,
    nextCoefficient: kl.controller ? adjustController(controller, currentKl, masks.length).beta : null,
    metrics: { rewardKl: currentKl, klCoefficient: beta },
  };
}

export type RewardedStep = Pick<StepRow, 'groupId' | 'rolloutId' | 'reward' | 'parts'>;

/**
 * Puts the reward of each step on its last token, and process rewards where they are declared to stand: their components leave
 * that sum, are placed and scaled by themselves, and are added again. The scale is over whole trajectories, whose steps are put
 * one after the other. @param rows in the order in which sums are taken, the steps of a rollout in theirs. @param lengths tokens
 * of each. @param callEnds the token that closes each call of a row; null where rewards stand on the last one.
 */
export function tokenRewards(
  rows: readonly RewardedStep[],
  lengths: ArrayLike<number>,
  process: ProcessRewardSettings | undefined,
  callEnds: readonly (readonly number[])[] | null = null,
): Rows {
  if (process === undefined) return onLastTokens(rows, lengths, ({ reward }) => reward);
  const processOf = (row: RewardedStep) => partOf(row, process.components);
  const outcome = onLastTokens(rows, lengths, (row) => row.reward - processOf(row));
  const placed = placeToolRewards(
    rows.map((row, i) => {
      const last = at(lengths, i) - 1;
      return { callEnds: [callEnds?.[i]?.at(-1) ?? last], rewards: [processOf(row)] };
    }),
    lengths,
  );
  return addRewards(outcome, process.normalisation === 'none' ? placed : normaliseTrajectories(rows, placed));
}

function onLastTokens(
  rows: readonly RewardedStep[],
  lengths: ArrayLike<number>,
  rewardOf: (row: RewardedStep) => number,
): Float64Array[] {
  return rows.map((row, i) => {
    const rewards = new Float64Array(at(lengths, i));
    rewards[rewards.length - 1] = rewardOf(row);
    return rewards;
  });
}

/** Sums components on a step itself by their weights. Rewards of the whole rollout are its outcome, whatever their names. */
function partOf({ parts = [] }: RewardedStep, components: readonly string[]): number {
  return parts.reduce((sum, { component, value, weight, of }) => {
    return of === 'step' && components.includes(component) ? sum + weight * value : sum;
  }, 0);
}

function normaliseTrajectories(rows: readonly RewardedStep[], placed: Rows): Rows {
  const scaled: Float64Array[] = placed.map((row) => row);
  const trajectories = [...positionsByKey(rows.map(trajectoryOf)).values()];
  const whole = normaliseOverBatch(trajectories.map((places) => Float64Array.from(places.flatMap((i) => [...rowAt(placed, i)]))));
  for (const [k, places] of trajectories.entries()) {
    let from = 0;
    for (const i of places) {
      const { length } = rowAt(placed, i);
      scaled[i] = rowAt(whole, k).slice(from, from + length);
      from += length;
    }
  }
  return scaled;
}
