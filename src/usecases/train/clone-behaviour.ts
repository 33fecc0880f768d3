import { createRandom } from '../../domain/random/random.ts';
import type { Situation } from '../../policies/linear/situation.ts';
import { addScaled } from '../../policies/linear/softmax.ts';
import type { LinearWeights } from '../../policies/linear/weights.ts';
import { gradientLogProb } from '../../policies/linear-policy.ts';

/** One action with loss: where it was chosen, among what, and how much it counts. */
export interface ClonedAction {
  readonly situation: Situation;
  readonly candidates: readonly string[];
  /** The position of the chosen action among the candidates. */
  readonly chosen: number;
  readonly weight: number;
}

export interface CloneOptions {
  readonly epochs: number;
  readonly learningRate: number;
  /** Fixes the order of the actions in every epoch. */
  readonly seed: number;
}

export interface Cloned {
  readonly weights: LinearWeights;
  /** Mean −log π(chosen) over the actions, by weight, in nats: each action before it was learned from in that epoch. */
  readonly losses: readonly number[];
}

/**
 * Trains the linear policy on chosen actions by maximum likelihood (behaviour cloning): stochastic gradient ascent on weight ·
 * log π, one action at a time, in a seeded order that is drawn again for each epoch. Equal inputs give equal bytes. The weights
 * given stay as they are; the new ones are their next version. @throws RangeError without an action: a version that learned
 * nothing would look like one that did.
 */
export function cloneBehaviour(
  from: LinearWeights,
  actions: readonly ClonedAction[],
  { epochs, learningRate, seed }: CloneOptions,
): Cloned {
  if (actions.length === 0) throw new RangeError('there is no action to clone');
  const weights = { version: from.version + 1, values: Float64Array.from(from.values) };
  const total = actions.reduce((sum, { weight }) => sum + weight, 0);
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    let loss = 0;
    for (const { situation, candidates, chosen, weight } of createRandom(seed).fork(epoch).shuffle(actions)) {
      const { logProb, gradient } = gradientLogProb(weights, situation, candidates, chosen, 1);
      loss -= weight * logProb;
      addScaled(weights.values, gradient, learningRate * weight);
    }
    losses.push(loss / total);
  }
  return { weights, losses };
}
