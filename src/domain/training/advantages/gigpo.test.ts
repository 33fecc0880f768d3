import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { givenBatch, givenRows } from '../training-testing.ts';
import { configureEstimator } from './estimators.ts';
import { groupByAnchor, sequenceRatio } from './gigpo-estimator.ts';

interface Ratios {
  readonly cases: readonly { readonly a: string; readonly b: string; readonly ratio: number }[];
}
const ratios: Ratios = JSON.parse(readFileSync(new URL('../fixtures/difflib-ratios.json', import.meta.url), 'utf8'));

test.each(ratios.cases.map(({ a, b, ratio }, i) => [i, a.length, b.length, ratio, a, b] as const))(
  'case %i of texts of %i and %i units has the ratio %f of difflib',
  (_i, _a, _b, ratio, a, b) => {
    expect(sequenceRatio(a, b)).toBe(ratio);
  },
);

describe('step groups', () => {
  test('step groups never cross prompt groups', () => {
    expect(Array.from(groupByAnchor(['x', 'x', 'y', 'y'], ['g', 'h', 'g', 'h'], { kind: 'exact' }))).toEqual([0, 0, 1, 1]);
  });

  test('a row joins the first cluster whose first member it resembles, not the nearest one', () => {
    const anchors = ['aaaaaaaaaa', 'aaaaaaaabb', 'aaaaaabbbb'];
    // The third resembles the second (0.8) but only the first opens a cluster, and it is 0.6 from that.
    expect(Array.from(groupByAnchor(anchors, ['g', 'g', 'g'], { kind: 'similar', threshold: 0.75 }))).toEqual([0, 0, 1]);
  });
});

describe('GiGPO', () => {
  const batch = givenBatch([[0], [1], [0], [0]], [[1], [1], [1], [1]], {
    trajectories: ['a', 'a', 'b', 'b'],
    steps: [0, 1, 0, 1],
    anchors: ['gate', 'hall', 'gate', 'yard'],
  });
  const estimate = (options: Readonly<Record<string, unknown>>, given = batch) => {
    const found = configureEstimator('gigpo', options);
    return found.kind === 'refused' ? found : found.estimator.estimate(given);
  };

  test('GiGPO adds the advantage of the episode to that of the step, which uses discounted returns', () => {
    const found = estimate({ mode: 'mean_norm', gamma: 0.5, stepWeight: 2 });
    // Episodes 1 and 0: ±½. From the gate, R is 0.5 and 0: ±0.25, twice.
    expect(found).toMatchObject({ kind: 'estimated', advantages: givenRows([[1], [0.5], [-1], [-0.5]]) });
  });

  test('rows that each hold the episode score also need the rewards of their steps', () => {
    expect(estimate({ episode: 'rows' })).toMatchObject({ kind: 'refused', reason: expect.stringContaining('no stepRewards') });
    const rows = { ...batch, rewards: givenRows([[1], [1], [0], [0]]), stepRewards: [0, 1, 0, 0] };
    const found = estimate({ episode: 'rows', mode: 'mean_norm', gamma: 0.5, stepWeight: 2 }, rows);
    expect(found).toMatchObject({ kind: 'estimated', advantages: givenRows([[1], [0.5], [-1], [-0.5]]) });
  });
});
