import type { EstimatorBatch, Readiness, StepPart } from '../../domain/training/advantages/estimator.ts';
import { type Rows, rowAt } from '../../domain/training/rows/rows.ts';
import { sumOf } from '../../domain/training/statistics/sum.ts';
import { type StepRow, trajectoryOf } from './step-row.ts';

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
