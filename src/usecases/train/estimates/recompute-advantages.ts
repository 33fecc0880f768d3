import type { ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { at, rowAt } from '../../../domain/training/rows/rows.ts';
import type { Method } from '../../../events/schemas/training.ts';
import { penalisesRewards, tokenRewards } from '../../../training/backends/estimator-batch.ts';
import type { Valued } from '../../../training/backends/linear/critic.ts';
import { decisionsOf, featureCache } from '../../../training/backends/linear/decisions.ts';
import { decodeCheckpoint, initialCheckpoint } from '../../../training/backends/linear/linear-checkpoint.ts';
import {
  estimateSteps,
  needsWeights,
  type PreparingSettings,
  prepareBatch,
  spreadOf,
} from '../../../training/backends/linear/prepare-batch.ts';
import { type StepRow, sortRows } from '../../../training/backends/step-row.ts';
import { estimateTokens } from '../../../training/backends/torch/pack-rows.ts';
import type { BatchReward } from '../../../training/rows/batch-rows.ts';

/** What an estimator makes of one row. */
export interface RowEstimate {
  /** One for the step, or one for each of its sampled tokens. */
  readonly advantages: Float64Array;
  readonly returns: Float64Array;
  /** The critic's, of the state before the step; null without a critic. */
  readonly value: number | null;
  /** The critic's, of the state after a step that a limit cut off, else 0; null without a critic. */
  readonly bootstrap: number | null;
}

/** Whether the estimator sees a step as one token, or as those that were sampled. */
type Grain = 'step' | 'token';

export interface RecomputedAdvantages {
  readonly kind: 'recomputed';
  readonly grain: Grain;
  readonly ofRow: ReadonlyMap<StepRow, RowEstimate>;
  /** What an update records of its advantages (`advantageMean`, `advantageDeviation`), of these. */
  readonly spread: Readonly<Record<string, number>>;
}

interface RecomputeOptions {
  readonly rows: readonly StepRow[];
  readonly method: Method;
  /** The backend that trains the policy; null where nobody said. */
  readonly backend: string | null;
  /**
   * What its training was declared with besides the estimator; left out where nobody said: then rewards are what steps earned.
   */
  readonly settings?: PreparingSettings | undefined;
  /** Reads the checkpoint that the batch is trained from; called only where the estimator depends on weights. */
  readonly readBase: () => Promise<Uint8Array>;
}

/**
 * Computes the advantages of a batch again, by the functions that its trainer calls: from the record alone where the estimator
 * needs no more, else with what the weights of the version before say. Refuses, with the reason, what cannot be known outside the
 * trainer. @throws CheckpointDamaged, what `readBase` throws.
 */
export async function recomputeAdvantages(asked: RecomputeOptions): Promise<RecomputedAdvantages | RefusedOption> {
  const { rows, method, backend, settings = PLAIN } = asked;
  const { name, revision, mode } = method;
  const options = (mode ?? {}) as Readonly<Record<string, unknown>>; // each option is checked by its rule, whatever it holds
  const configured = configureEstimator(name, options);
  if (configured.kind === 'refused') return configured;
  const { estimator } = configured;
  if (estimator.revision !== revision)
    return refuseOption(`the record names revision ${revision} of ${name}, and this program has revision ${estimator.revision}`);
  const sorted = sortRows(rows);
  if (backend === 'linear') return linearAdvantages(estimator, sorted, settings, asked.readBase);
  if (needsWeights(estimator))
    return refuseOption(`${name} needs what the model says of each token, and only its trainer has that model`);
  if (penalisesRewards(settings))
    return refuseOption('KL in the reward needs what the model says of each token, and only its trainer has that model');
  const byTokens = backend === 'torch' || sorted.some(({ tokens }) => (tokens?.ids.length ?? 0) > 1);
  if (byTokens) return tokenAdvantages(estimator, sorted, settings);
  const rewards = tokenRewards(sorted, new Uint8Array(sorted.length).fill(1), settings.processRewards);
  return result('step', sorted, estimateSteps(estimator, sorted, rewards), null);
}

const PLAIN: PreparingSettings = { kl: null };

async function linearAdvantages(
  estimator: ConfiguredEstimator,
  sorted: readonly StepRow[],
  { correction, ...settings }: PreparingSettings,
  readBase: () => Promise<Uint8Array>,
): Promise<RecomputedAdvantages | RefusedOption> {
  const { decisions, without } = decisionsOf(sorted);
  const [strange] = without;
  if (strange) return refuseOption(`step ${strange.step} of rollout ${strange.rolloutId} was no choice among candidates`);
  const readsWeights = needsWeights(estimator) || penalisesRewards(settings);
  const base = readsWeights ? decodeCheckpoint(await readBase()) : initialCheckpoint();
  const prepared = prepareBatch(estimator, {
    from: () => base,
    decisions,
    featuresOf: featureCache(),
    reference: initialCheckpoint().policy.values, // every linear policy begins there
    // a correction changes the advantages of none but those that read the weights
    settings: needsWeights(estimator) ? { ...settings, correction } : settings,
  });
  if (prepared.kind === 'refused') return prepared;
  const { advantages, returns, valued } = prepared;
  return result('step', sorted, { kind: 'estimated', advantages, returns }, valued);
}

function tokenAdvantages(
  estimator: ConfiguredEstimator,
  sorted: readonly StepRow[],
  { processRewards }: PreparingSettings,
): RecomputedAdvantages | RefusedOption {
  const rows = sorted.map((row) => ({ row, ids: row.tokens?.ids ?? [] }));
  const empty = rows.find(({ ids }) => ids.length === 0);
  if (empty) return refuseOption(`step ${empty.row.step} of rollout ${empty.row.rolloutId} has no sampled tokens`);
  if (processRewards?.placement === 'call-end')
    return refuseOption('process rewards stand where calls end, and only the trainer has the tokenizer that finds where that is');
  const lengths = rows.map(({ ids }) => ids.length);
  const rewards = tokenRewards(sorted, lengths, processRewards);
  return result('token', sorted, estimateTokens(estimator, rows, { rewards }), null);
}

function result(
  grain: Grain,
  sorted: readonly StepRow[],
  estimated: Estimated | RefusedOption,
  valued: Valued | null,
): RecomputedAdvantages | RefusedOption {
  if (estimated.kind === 'refused') return estimated;
  const { advantages, returns } = estimated;
  const ofRow = new Map(
    sorted.map((row, i): [StepRow, RowEstimate] => [
      row,
      {
        advantages: Float64Array.from(rowAt(advantages, i)),
        returns: Float64Array.from(rowAt(returns, i)),
        value: valued && at(valued.values, i),
        bootstrap: valued && at(valued.bootstraps, i),
      },
    ]),
  );
  return { kind: 'recomputed', grain, ofRow, spread: spreadOf('advantage', advantages) };
}

/** Which rewards: those in force now, or those that the batch was trained on. */
export type RewardsOf = 'now' | 'trained';

/** What an estimator sees of a batch, and what it makes of it. Computed when it is asked for; nothing of it is stored. */
export interface BatchEstimates {
  readonly batchId: string;
  /**
   * By name, revision and mode, as the update recorded it, or the plan before there is one; null where no advantage is estimated.
   */
  readonly method: Method | null;
  /** Null without advantages. */
  readonly grain: Grain | null;
  /** Why there are no advantages; null where there are. */
  readonly reason: string | null;
  /** The position in the log of the rewards. */
  readonly rewardsAt: string;
  /** Whether all of this that the update recorded too is the same there; null where it recorded nothing of it. */
  readonly agrees: boolean | null;
  /** In the order of the batch. */
  readonly samples: readonly SampleEstimate[];
}

export interface SampleEstimate {
  readonly batchId: string;
  readonly rolloutId: string;
  readonly treeId: string;
  readonly place: number;
  /** All rewards of its own steps and of it as a whole. */
  readonly return: number;
  /** On the whole rollout. */
  readonly rewards: readonly BatchReward[];
  /** The mean over what was trained of it; null without advantages. */
  readonly advantage: number | null;
  /** Versions between its oldest span and the version that the batch was planned on; null where no span is recorded. */
  readonly staleness: number | null;
  readonly steps: readonly StepEstimate[];
}

export interface StepEstimate {
  readonly batchId: string;
  readonly stepId: string;
  readonly treeId: string;
  /** The step's place in its rollout, from 0. */
  readonly number: number;
  /** Of the step; the sum that the estimator sees also holds, on the last one, those of the whole rollout. */
  readonly rewards: readonly BatchReward[];
  readonly reward: number;
  /** Hash of the state before it. */
  readonly anchor: string | null;
  /**
   * Tokens recorded with it, and those of them that a policy sampled: the ones of its loss mask. Null where none are recorded.
   */
  readonly tokenCount: number | null;
  readonly maskLength: number | null;
  /** Where the tokens of its mask begin among those of its sample, and the sample's place. */
  readonly sampled: { readonly sample: number; readonly from: number };
  /** Sum of the recorded log-probs over the mask; null where none are recorded. */
  readonly logProb: number | null;
  readonly staleness: number | null;
  readonly value: number | null;
  readonly bootstrap: number | null;
  /** What the estimator would have the critic learn: of the first token. */
  readonly target: number | null;
  /** The mean over the tokens of the mask. */
  readonly advantage: number | null;
  /** One for each token of the mask; null where they are all `advantage`. */
  readonly tokenAdvantages: readonly number[] | null;
}
