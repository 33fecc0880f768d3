import { createRandom } from '../../../domain/random/random.ts';
import { TOKEN_MEAN } from '../../../domain/training/losses/policy-loss.ts';
import { valueLoss } from '../../../domain/training/losses/value-loss.ts';
import { at, rowAt } from '../../../domain/training/rows/rows.ts';
import type { FeatureVector } from '../../../policies/linear/features.ts';
import { scoreOf } from '../../../policies/linear/softmax.ts';
import { STATE_BUCKETS, stateFeatures } from '../../../policies/linear/state-features.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { addVector, type Decision } from './decisions.ts';
import { type Moments, takeStep } from './linear-checkpoint.ts';

/** What a linear critic says of the steps of a batch. */
export interface Valued {
  readonly features: readonly FeatureVector[];
  /** V of the state before each step. */
  readonly values: Float64Array;
  /** V of the state after each step where a limit cut the rollout off, 0 elsewhere. */
  readonly bootstraps: Float64Array;
}

/** Values the states before the steps of a batch, and those after truncated ends, each with its candidates. */
export function valueSteps(critic: Float64Array, decisions: readonly Decision[]): Valued {
  const features = decisions.map(({ row, candidates }) => stateFeatures(row.situation, candidates));
  const bootstraps = Float64Array.from(decisions, ({ row }) => {
    if (row.end !== 'truncated') return 0;
    const history = [...row.situation.history, { action: row.action, observation: row.observation }];
    return scoreOf(critic, stateFeatures({ ...row.situation, history }, row.after ?? []));
  });
  return { features, values: Float64Array.from(features, (vector) => scoreOf(critic, vector)), bootstraps };
}

/**
 * Moves the critic towards the returns by the clipped value loss, mini-batches of steps in a seeded order. The arguments stay as
 * they are.
 */
export function fitCritic(
  start: { readonly critic: Float64Array; readonly criticMoments: Moments },
  { features, values }: Valued,
  returns: Float64Array,
  { critic: rule, optimiser, clipNorm }: TrainingSettings,
  seed: number,
): { readonly critic: Float64Array; readonly criticMoments: Moments; readonly loss: number; readonly skipped: number } {
  let { critic, criticMoments } = start;
  let [loss, skipped] = [0, 0];
  const size = 64; // steps of a mini-batch: the critic is small, and so many give a steady direction
  for (let epoch = 0; epoch < rule.epochs; epoch++) {
    const order = createRandom(seed)
      .fork(epoch)
      .shuffle([...features.keys()]);
    let total = 0;
    for (let from = 0; from < order.length; from += size) {
      const chosen = order.slice(from, from + size);
      const one = (value: (i: number) => number) => chosen.map((i) => Float64Array.of(value(i)));
      const found = valueLoss(
        {
          predictions: one((i) => scoreOf(critic, rowAt(features, i))),
          values: one((i) => at(values, i)),
          returns: one((i) => at(returns, i)),
          masks: chosen.map(() => Uint8Array.of(1)),
        },
        { clip: rule.clip, factor: rule.factor ?? 0.5 },
        TOKEN_MEAN,
      );
      const gradient = new Float64Array(STATE_BUCKETS);
      for (const [k, i] of chosen.entries()) addVector(gradient, rowAt(features, i), at(rowAt(found.gradient, k), 0));
      const step = takeStep(critic, criticMoments, gradient, { optimiser, learningRate: rule.learningRate, clipNorm });
      [critic, criticMoments] = [step.values, step.moments];
      if (step.kind === 'skipped') skipped++;
      total += found.loss * chosen.length;
    }
    loss = total / order.length;
  }
  return { critic, criticMoments, loss, skipped };
}
