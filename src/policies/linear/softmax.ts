import { largest } from '../../domain/extremes.ts';
import type { FeatureVector } from './features.ts';

/** Scores a candidate: the inner product θ·φ. */
export function scoreOf(weights: Float64Array, features: FeatureVector): number {
  let score = 0;
  for (let i = 0; i < features.indices.length; i++) {
    // indices stay below the buckets
    score += (weights[features.indices[i] as number] as number) * (features.values[i] as number);
  }
  return score;
}

/**
 * Returns the log-probability of each candidate, log π(i) = s_i/T − log Σ_j exp(s_j/T), in nats, with the largest score taken out
 * first so that nothing overflows. Temperature 0 is the limit: all the probability is shared evenly by the best candidates
 * (−Infinity elsewhere).
 */
export function logSoftmax(scores: readonly number[], temperature: number): number[] {
  if (!(temperature >= 0)) throw new RangeError(`a temperature is a number from 0, not ${temperature}`);
  const best = largest(scores);
  if (temperature === 0) {
    const ties = scores.filter((score) => score === best).length;
    return scores.map((score) => (score === best ? -Math.log(ties) : Number.NEGATIVE_INFINITY));
  }
  const scaled = scores.map((score) => (score - best) / temperature);
  const logTotal = Math.log(scaled.reduce((sum, s) => sum + Math.exp(s), 0));
  return scaled.map((s) => s - logTotal);
}

/** Picks the candidate in whose share of [0, 1) the draw `uniform` falls. */
export function pick(logProbs: readonly number[], uniform: number): number {
  let rest = uniform;
  let last = 0;
  for (const [i, logProb] of logProbs.entries()) {
    const probability = Math.exp(logProb);
    if (probability === 0) continue;
    if (rest < probability) return i;
    rest -= probability;
    last = i; // rounding may leave a crumb above the last share: it belongs to the last possible candidate
  }
  return last;
}

/** A sparse gradient: distinct indices in ascending order, so that adding it up is the same on every machine. */
export interface SparseGradient {
  readonly indices: Int32Array;
  readonly values: Float64Array;
}

/**
 * Returns ∇θ log π(chosen) = (φ_chosen − Σ_i π(i)·φ_i) / T.
 * @param logProbs from `logSoftmax` at the same temperature. @throws RangeError at temperature 0, where there is no gradient.
 */
export function logProbGradient(
  features: readonly FeatureVector[],
  logProbs: readonly number[],
  chosen: number,
  temperature: number,
): SparseGradient {
  if (!(temperature > 0)) throw new RangeError('log-probabilities have a gradient only at a temperature above 0');
  const taken = features[chosen];
  if (!taken) throw new RangeError(`candidate ${chosen} of ${features.length} does not exist`);
  const sums = new Map<number, number>();
  const add = (vector: FeatureVector, scale: number): void => {
    for (let i = 0; i < vector.indices.length; i++) {
      const index = vector.indices[i] as number; // i stays below the length of both arrays
      sums.set(index, (sums.get(index) ?? 0) + (vector.values[i] as number) * scale);
    }
  };
  add(taken, 1 / temperature);
  for (const [i, vector] of features.entries()) add(vector, -Math.exp(logProbs[i] ?? Number.NEGATIVE_INFINITY) / temperature);
  const indices = Int32Array.from(sums.keys()).sort();
  return { indices, values: Float64Array.from(indices, (index) => sums.get(index) ?? 0) };
}

/** Adds `scale` times a gradient to weights, in place. */
export function addScaled(weights: Float64Array, gradient: SparseGradient, scale: number): void {
  for (let i = 0; i < gradient.indices.length; i++) {
    const index = gradient.indices[i] as number; // i stays below the length of both arrays
    weights[index] = (weights[index] as number) + scale * (gradient.values[i] as number);
  }
}
