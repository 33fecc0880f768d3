import { entropyOfLogits } from '../../../domain/training/losses/actor-loss.ts';
import { candidateFeatures, type FeatureVector } from '../../../policies/linear/features.ts';
import { logSoftmax, scoreOf } from '../../../policies/linear/softmax.ts';
import type { StepRow } from '../step-row.ts';

/** A step as the linear policy sees it: what was chosen, among what. */
export interface Decision {
  readonly row: StepRow;
  readonly candidates: readonly string[];
  readonly chosen: number;
}

/**
 * Reads the choice of each row. Its one token is the place of its action among the candidates; a row of another policy is read by
 * its action.
 */
export function decisionsOf(rows: readonly StepRow[]): {
  readonly decisions: readonly Decision[];
  readonly without: readonly StepRow[];
} {
  const decisions: Decision[] = [];
  const without: StepRow[] = [];
  for (const row of rows) {
    const chosen = chosenOf(row);
    if (chosen !== null) decisions.push({ row, candidates: row.candidates ?? [], chosen });
    else without.push(row);
  }
  return { decisions, without };
}

/**
 * Returns the place of what was chosen among the candidates; null where it was no choice among them. The planner asks here what
 * may be planned.
 */
export function chosenOf({ candidates, tokens, action }: Pick<StepRow, 'candidates' | 'tokens' | 'action'>): number | null {
  const all = candidates ?? [];
  const { ids = [] } = tokens ?? {};
  const chosen = ids.length === 1 ? (ids[0] ?? -1) : all.indexOf(action);
  return chosen >= 0 && chosen < all.length ? chosen : null;
}

/** The distribution at a decision under given weights. */
export interface Choice {
  readonly logProbs: readonly number[];
  readonly logProb: number;
  /** Nats. */
  readonly entropy: number;
}

export function choiceAt(weights: Float64Array, features: readonly FeatureVector[], { row, chosen }: Decision): Choice {
  const scores = features.map((vector) => scoreOf(weights, vector));
  const logProbs = logSoftmax(scores, row.temperature);
  return { logProbs, logProb: logProbs[chosen] ?? Number.NaN, entropy: entropyOfLogits(logProbs) };
}

/**
 * Adds a decision's part of d loss / dθ to a gradient: with z = θ·φ/T, dz_j = slope·(1[j = chosen] − p_j) − entropySlope·p_j·(log
 * p_j + H), and θ gets Σ_j dz_j·φ_j/T. @param slope d loss / d log π(chosen). @param entropySlope d loss / d H.
 */
export function addGradient(
  gradient: Float64Array,
  features: readonly FeatureVector[],
  { row, chosen }: Decision,
  { logProbs, entropy }: Choice,
  slope: number,
  entropySlope: number,
): void {
  for (const [j, vector] of features.entries()) {
    const log = logProbs[j] ?? Number.NEGATIVE_INFINITY;
    const p = Math.exp(log);
    const spread = p === 0 ? 0 : p * (log + entropy);
    addVector(gradient, vector, (slope * ((j === chosen ? 1 : 0) - p) - entropySlope * spread) / row.temperature);
  }
}

/** Adds `scale` times a sparse vector to a dense one, in place. */
export function addVector(into: Float64Array, { indices, values }: FeatureVector, scale: number): void {
  if (scale === 0) return;
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number; // i stays below the length of both arrays
    into[index] = (into[index] as number) + scale * (values[i] as number); // indices stay below the buckets
  }
}

const KEPT = 2_048; // decisions of some 40 candidates × 500 features, 12 bytes each: half a gigabyte at the very most

/** Returns the features of decisions, kept between epochs while there is room: making them costs more than a step of learning. */
export function featureCache(): (decision: Decision) => readonly FeatureVector[] {
  const kept = new Map<Decision, readonly FeatureVector[]>();
  return (decision) => {
    const known = kept.get(decision);
    if (known !== undefined) return known;
    const made = candidateFeatures(decision.row.situation, decision.candidates).map(mergeVector);
    if (kept.size < KEPT) kept.set(decision, made);
    return made;
  };
}

/** Adds up what occurs twice under one index, in ascending order: shorter, and the same sum everywhere. */
function mergeVector({ indices, values }: FeatureVector): FeatureVector {
  const order = Uint32Array.from(indices.keys()).sort((a, b) => (indices[a] ?? 0) - (indices[b] ?? 0) || a - b);
  const [merged, sums]: [number[], number[]] = [[], []];
  for (const i of order) {
    const [index, value] = [indices[i] ?? 0, values[i] ?? 0];
    if (merged.at(-1) === index) sums[sums.length - 1] = (sums.at(-1) ?? 0) + value;
    else {
      merged.push(index);
      sums.push(value);
    }
  }
  return { indices: Int32Array.from(merged), values: Float64Array.from(sums) };
}
