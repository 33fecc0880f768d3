import { expect, test } from '@jest/globals';
import { TEST_RULES } from '../../../testing/record-training.ts';
import { configureEstimator } from '../advantages/estimators.ts';
import { planBatches } from './plan-batches.ts';
import type { PoolGroup } from './pool.ts';

/** A group of one finished rollout of so many steps, ten sampled tokens each. */
function group(treeId: string, steps: number): PoolGroup {
  const sample = {
    rolloutId: `${treeId}0`,
    ordinal: 0,
    outcome: 'terminated' as const,
    steps,
    sampledTokens: 10 * steps,
    contextTokens: 30,
    rowTokens: 50,
    oldestVersion: 0,
    newestVersion: 0,
    policies: ['p'],
    withoutLogProbs: 0,
    withoutAnchor: 0,
    scores: { environment: 1 },
    rejected: null,
    finishedMs: 0,
    scoredMs: 0,
    recordFault: null,
  };
  return { treeId, closedMs: 0, taken: false, planned: 1, samples: [sample], greedyMs: null };
}

function batchesOf(estimator: string, options: Readonly<Record<string, unknown>>, groups: readonly PoolGroup[]) {
  const chosen = configureEstimator(estimator, options);
  if (chosen.kind === 'refused') throw new Error(chosen.reason);
  const state = { policyId: 'p', newestVersion: 0, planned: 0, trained: 0, abandoned: 0 };
  const rules = { ...TEST_RULES, groupsPerBatch: 1 };
  const decisions = planBatches({ state, rules, readiness: chosen.estimator.readiness, seed: 1, groups });
  return decisions.flatMap((decision) => (decision.kind === 'plan' ? [decision.batch.groups.length] : []));
}

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['reinforce_step', {}],
  ['gae', { variant: 'step' }],
])('a batch for %s %o contains at least two steps, however many tokens one step has', (name, options) => {
  expect(batchesOf(name, options, [group('a', 1)])).toEqual([]);
  expect(batchesOf(name, options, [group('a', 1), group('b', 1)])).toEqual([2]);
  expect(batchesOf(name, options, [group('a', 2)])).toEqual([1]);
});

test('a batch for an estimator that whitens tokens is large enough with one step of several tokens', () => {
  expect(batchesOf('gae', {}, [group('a', 1)])).toEqual([1]);
  expect(batchesOf('reinforce_plus_plus', {}, [group('a', 1)])).toEqual([1]);
});
