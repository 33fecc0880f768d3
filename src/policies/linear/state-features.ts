import { largest } from '../../domain/extremes.ts';
import type { FeatureVector } from './features.ts';
import { createEvidence, demandOf } from './recipe-demand.ts';
import type { Situation } from './situation.ts';
import { crossHash, hashText, wordsOf } from './words.ts';

/** Buckets of the hashed space of a critic; a state has some dozens of features. */
export const STATE_BUCKETS = 2 ** 12;

/**
 * Describes a situation by itself as a sparse vector ψ(s) in 2^12 dimensions, for a critic V(s) = θ·ψ(s): a constant; the steps
 * taken; the words of the goal and of the last observation; how many items are missing and at most how many hops away; and which
 * relations of evidence the candidates offer. Every feature is scaled so that no text is longer than 1.
 * @param candidates what can be done there; they show how near the goal is where its texts do not.
 */
export function stateFeatures(situation: Situation, candidates: readonly string[]): FeatureVector {
  const found = new Map<number, number>();
  const add = (name: string, feature: number | string, value: number): void => {
    const hash = crossHash(hashText(`state:${name}`), typeof feature === 'number' ? feature : hashText(feature));
    const index = hash & (STATE_BUCKETS - 1);
    found.set(index, (found.get(index) ?? 0) + (hash >>> 31 === 1 ? -value : value));
  };
  const addAll = (name: string, features: readonly string[], size: number): void => {
    for (const feature of features) add(name, feature, size / Math.sqrt(features.length));
  };
  add('constant', 0, 1);
  add('steps', Math.min(situation.history.length, 31), 1);
  add('goal', situation.goal, 1);
  addAll('goal-word', [...new Set(wordsOf(situation.goal, 24))], 1);
  const last = situation.history.at(-1);
  if (last !== undefined) addAll('last-word', [...new Set(wordsOf(last.observation, 32))], 0.5);

  const missing = [...demandOf(situation).missing.values()];
  if (missing.length > 0) {
    add('missing', Math.min(missing.length, 12), 1);
    add('hops', Math.min(largest(missing.map(({ hop }) => hop)), 6), 1);
  }
  const evidence = createEvidence(situation);
  addAll('evidence', [...new Set(candidates.flatMap((action) => evidence(action) ?? []))].sort(), 1);
  const indices = [...found.keys()].sort((a, b) => a - b);
  return { indices: Int32Array.from(indices), values: Float64Array.from(indices, (index) => found.get(index) ?? 0) };
}
