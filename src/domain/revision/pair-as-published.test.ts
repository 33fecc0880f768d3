import { describe, expect, test } from '@jest/globals';
import type { SearchedStep } from '../search/search-tree.ts';
import { growTree } from '../tree/grow-tree.ts';
import { pairAsPublished } from './pair-paths.ts';
import { plant } from './revision-testing.ts';

describe('pairing as published', () => {
  test('another seed of the shuffle yields the same pairs in another order', () => {
    const tree = plant([...'abcdef'].map((words, i) => ({ words, shared: 0, score: i / 8 })));
    const thresholds = { alpha: 0.1, beta: 0 };
    const order = (seed?: number) =>
      pairAsPublished(tree, thresholds, seed).accepted.map(({ good, bad }) => `${good.leafStepId} ${bad.leafStepId}`);
    expect(order(7)).not.toEqual(order());
    expect([...order(7)].sort()).toEqual([...order()].sort());
    expect(order(123)).toEqual(order());
  });

  test('alpha is compared with the value of the leaf, and beta with the averages', () => {
    const step = (stepId: string, parentStepId: string | null, visits: number, valueSum: number): SearchedStep => ({
      stepId,
      parentStepId,
      visits,
      valueSum,
      score: 0,
      disaster: false,
      terminal: true,
      response: stepId,
      action: stepId,
      observation: stepId,
    });
    const tree = growTree([step('root', null, 3, 0.8), step('twice', 'root', 2, 0.8), step('once', 'root', 1, 0)]);
    const leaves = (alpha: number, beta: number) =>
      pairAsPublished(tree, { alpha, beta }).accepted.map(({ good }) => good.leafStepId);
    expect([leaves(0.5, 0.3), leaves(0.5, 0.5)]).toEqual([['twice'], []]);
    expect(pairAsPublished(tree, { alpha: 0.5, beta: 0.3 }).good.map(({ leafStepId }) => leafStepId)).toEqual(['twice']);
  });
});
