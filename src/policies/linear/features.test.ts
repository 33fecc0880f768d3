import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sha256Hex } from '../../digest/sha256.ts';
import { createRandom } from '../../domain/random/random.ts';
import { candidateFeatures, candidateScores, FEATURE_BUCKETS, FEATURE_REVISION } from './features.ts';
import type { Situation } from './situation.ts';
import { scoreOf } from './softmax.ts';

const ITEMS = ['oak planks', 'stick', 'iron ingot', 'glass', 'bookshelf', 'leather', 'paper', 'book'];
const weights = Float64Array.from({ length: FEATURE_BUCKETS }, (_, i) => ((i * 7_919) % 1_000) / 500 - 1);

test('the features of a revision never change: weights that are on record mean what they meant', () => {
  const bytes = Array.from({ length: 20 }, (_, seed) => {
    const { situation, candidates } = drawn(seed);
    return candidateFeatures(situation, candidates).map(({ indices, values }) => `${indices.join()}|${values.join()}`);
  });
  expect([FEATURE_REVISION, sha256Hex(JSON.stringify(bytes))]).toEqual([
    2,
    'daf8600986e2350407b18e4259939609d644172f3316ad2f82c9940f64d56a1a',
  ]);
});

test('features and scores of a situation do not depend on which others were described before', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 12 }), (seeds) => {
      const first = seeds.map((seed) => candidateFeatures(drawn(seed).situation, drawn(seed).candidates));
      for (const [i, seed] of seeds.toReversed().entries()) {
        const { situation, candidates } = drawn(seed);
        const again = candidateFeatures(situation, candidates);
        expect(again).toEqual(first[seeds.length - 1 - i]);
        expect(candidateScores(weights, situation, candidates)).toEqual(again.map((vector) => scoreOf(weights, vector)));
      }
    }),
    { numRuns: 20 },
  );
});

test('a longest goal, observation and action have room', () => {
  const long = Array.from({ length: 80 }, (_, i) => `w${i}`).join(' ');
  const situation = { goal: long, firstObservation: `craft 1 ${long} using 1 ${long}`, history: [] };
  const action = `craft 1 ${long} using 1 stick`;
  const [vector] = candidateFeatures(situation, [action]);
  expect(candidateScores(weights, situation, [action])).toEqual([scoreOf(weights, vector ?? never())]);
  expect(vector?.indices.length).toBeGreaterThan(24 * (24 + 32));
});

function never(): never {
  throw new Error('every candidate has features');
}

function drawn(seed: number): { readonly situation: Situation; readonly candidates: readonly string[] } {
  const random = createRandom(seed);
  const item = () => random.choice(ITEMS);
  const count = () => 1 + random.int(4);
  const recipes = Array.from({ length: 8 }, () => `craft ${count()} ${item()} using ${count()} ${item()}, ${count()} ${item()}`);
  const goal = item();
  const candidates = [...recipes, ...ITEMS.map((each) => `get ${count()} ${each}`), 'inventory'];
  const history = Array.from({ length: random.int(10) }, () => ({
    action: random.choice(candidates),
    observation: random.choice([
      `Got ${count()} ${item()}`,
      `Could not find a valid recipe for ${item()}`,
      `Crafted 1 ${item()}`,
    ]),
  }));
  return { situation: { goal, firstObservation: `${recipes.join('\n')}\n\nGoal: craft ${goal}.`, history }, candidates };
}
