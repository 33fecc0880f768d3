import { describe, expect, test } from '@jest/globals';
import { configureEstimator } from '../advantages/estimators.ts';
import { type Decision, type DraftBatch, planBatches } from './plan-batches.ts';
import type { PlanRules } from './plan-rules.ts';
import type { LineageState, PoolGroup, PoolSample } from './pool.ts';
import type { Rejection } from './record-fault.ts';

const RULES: PlanRules = {
  groupsPerBatch: 2,
  group: { kind: 'all' },
  maxStaleness: 0,
  offPolicy: 'any',
  metric: 'environment',
  unscored: 'reject',
  zeroVariance: 'reject',
  band: null,
  truncated: 'keep',
  maxTokens: null,
  layout: 'verl',
  tokenBudget: 1_000,
};
const STATE: LineageState = { policyId: 'p', newestVersion: 0, planned: 0, trained: 0, abandoned: 0 };

function readinessOf(name: string) {
  const chosen = configureEstimator(name, {});
  if (chosen.kind === 'refused') throw new Error(chosen.reason);
  return chosen.estimator.readiness;
}

function sample(rolloutId: string, ordinal: number, score: number, overrides: Partial<PoolSample> = {}): PoolSample {
  return {
    rolloutId,
    ordinal,
    outcome: 'terminated',
    steps: 1,
    sampledTokens: 10,
    contextTokens: 30,
    rowTokens: 50,
    oldestVersion: 0,
    newestVersion: 0,
    policies: ['p'],
    withoutLogProbs: 0,
    withoutAnchor: 0,
    scores: { environment: score },
    finishedMs: 0,
    scoredMs: 0,
    recordFault: null,
    rejected: null,
    ...overrides,
  };
}

function group(treeId: string, scores: readonly number[], overrides: Partial<PoolGroup> = {}): PoolGroup {
  const samples = scores.map((score, i) => sample(`${treeId}${i}`, i, score));
  return { treeId, closedMs: treeId.charCodeAt(0), taken: false, planned: scores.length, samples, greedyMs: null, ...overrides };
}

function plan(
  groups: readonly PoolGroup[],
  rules: Partial<PlanRules> = {},
  state: Partial<LineageState> = {},
  estimator = 'grpo',
) {
  const readiness = readinessOf(estimator);
  return planBatches({ state: { ...STATE, ...state }, rules: { ...RULES, ...rules }, readiness, seed: 1, groups });
}
function batches(decisions: readonly Decision[]): readonly DraftBatch[] {
  return decisions.flatMap((decision) => (decision.kind === 'plan' ? [decision.batch] : []));
}
function refusals(decisions: readonly Decision[]): Record<string, Rejection['reason']> {
  return Object.fromEntries(decisions.flatMap((d) => (d.kind === 'reject' ? [[d.rolloutId, d.reason]] : [])));
}
function treesOf(batch: DraftBatch | undefined): readonly string[] {
  return (batch?.groups ?? []).map(({ treeId }) => treeId).sort();
}

describe('a batch', () => {
  test('a batch contains a fixed number of whole groups in ready order, and the rest waits', () => {
    const decisions = plan([group('a', [0, 1]), group('b', [0, 1]), group('c', [0, 1])], { maxStaleness: 1 });
    expect(batches(decisions)).toHaveLength(1);
    expect(treesOf(batches(decisions)[0])).toEqual(['a', 'b']);
    expect(refusals(decisions)).toEqual({});
  });

  test('a batch does not wait for groups that are slow, unscored or without their greedy sibling', () => {
    const open = group('a', [0, 1], { closedMs: null });
    const unscored = group('b', [0, 1], { samples: [sample('b0', 0, 1), sample('b1', 1, 0, { scoredMs: null })] });
    const decisions = plan([open, unscored, group('c', [0, 1]), group('d', [0, 1])], { unscored: 'wait' });
    expect(treesOf(batches(decisions)[0])).toEqual(['c', 'd']);
    const greedy = plan([group('a', [0, 1]), group('b', [0, 1], { greedyMs: 1 })], { groupsPerBatch: 1 }, {}, 'remax');
    expect(treesOf(batches(greedy)[0])).toEqual(['b']);
    expect(batches(greedy)).toHaveLength(1);
  });

  test('a batch is divided into micro-batches within the token budget, every place in exactly one', () => {
    const [batch] = batches(plan([group('a', [0, 1, 2]), group('b', [0, 1])], { tokenBudget: 70 }));
    expect(batch?.tokens).toBe(150);
    expect(batch?.shards.flat().sort()).toEqual([0, 1, 2, 3, 4]);
    for (const shard of batch?.shards ?? []) expect(shard.length * 30).toBeLessThanOrEqual(70);
  });

  test('the order within a batch depends on the seed and its members, not on the order in which groups closed', () => {
    const groups = 'abcdefgh'.split('').map((id) => group(id, [0, 1]));
    const rules = { groupsPerBatch: 8 };
    const forwards = batches(plan(groups, rules));
    const reversed = groups.map((each, i) => ({ ...each, closedMs: 100 - i }));
    expect(batches(plan(reversed, rules))).toEqual(forwards);
    const closed = groups.map(({ treeId }) => treeId);
    expect(forwards[0]?.groups.map(({ treeId }) => treeId)).not.toEqual(closed);
  });

  test('a batch takes further groups until whitening has two tokens', () => {
    const single = (id: string) => group(id, [1], { samples: [sample(id, 0, 1, { sampledTokens: 1 })] });
    const rules = { groupsPerBatch: 1, zeroVariance: 'keep' } as const;
    const [batch] = batches(plan([single('a'), single('b')], rules, {}, 'reinforce_plus_plus'));
    expect(treesOf(batch)).toEqual(['a', 'b']);
  });
});

describe('staleness', () => {
  test('staleness is measured on the oldest span, against the version that the batch will be trained on', () => {
    const spans = { oldestVersion: 3, newestVersion: 5 };
    const aged = (id: string) => group(id, [0, 1], { samples: [sample(`${id}0`, 0, 0, spans), sample(`${id}1`, 1, 1, spans)] });
    const state = { newestVersion: 4, planned: 7, trained: 6 }; // batch 6 is out: batch 7 is trained on version 5
    expect(batches(plan([aged('a'), aged('b')], { maxStaleness: 2 }, state))[0]).toMatchObject({ ordinal: 7, policyVersion: 5 });
    expect(refusals(plan([aged('a')], { maxStaleness: 1 }, state))).toEqual({ a0: 'stale', a1: 'stale' });
    expect(batches(plan([aged('a'), aged('b')], { maxStaleness: null }, { ...state, newestVersion: 99 }))).toHaveLength(1);
  });

  test('strictly on-policy planning treats the remaining samples of an older version as stale', () => {
    const decisions = plan([group('a', [0, 1]), group('b', [0, 1]), group('c', [0, 1])]);
    expect(batches(decisions)).toHaveLength(1);
    expect(refusals(decisions)).toEqual({ c0: 'stale', c1: 'stale' });
  });

  test('staleness bounds a group that never closes: its members are rejected when they are too old', () => {
    const open = group('a', [0, 1], { closedMs: null });
    expect(plan([open], { maxStaleness: 1 }, { newestVersion: 1 })).toEqual([]);
    expect(refusals(plan([open], { maxStaleness: 1 }, { newestVersion: 2 }))).toEqual({ a0: 'stale', a1: 'stale' });
  });

  test('an older sample needs log-probabilities where off-policy samples are corrected', () => {
    const bare = group('a', [0, 1], { samples: [sample('a0', 0, 0, { withoutLogProbs: 1 }), sample('a1', 1, 1)] });
    const rules = { maxStaleness: 1, offPolicy: 'log-probs', groupsPerBatch: 1 } as const;
    expect(batches(plan([bare], rules))).toHaveLength(1);
    expect(refusals(plan([bare], rules, { newestVersion: 1 }))).toEqual({ a0: 'incomplete-record', a1: 'incomplete-group' });
  });
});

describe('contradictory members', () => {
  const rule = 'rollout a1 took 2 steps by its end, and its path holds 1 of them';
  const fault = { reason: 'incomplete-record', rule, measured: null } as const;
  const broken = group('a', [0, 1, 1], {
    samples: [sample('a0', 0, 0), sample('a1', 1, 1, { recordFault: fault }), sample('a2', 2, 1)],
  });
  test('a member whose record contradicts itself is rejected with the reason, and its group by the group rule', () => {
    const decisions = plan([broken], { groupsPerBatch: 1 });
    expect(refusals(decisions)).toEqual({ a0: 'incomplete-group', a1: 'incomplete-record', a2: 'incomplete-group' });
    expect(decisions).toContainEqual(expect.objectContaining({ rolloutId: 'a1', rule, measured: null }));
    const [batch] = batches(plan([broken], { groupsPerBatch: 1, group: { kind: 'at-least', members: 2 } }));
    expect(batch?.groups).toEqual([{ treeId: 'a', rolloutIds: ['a0', 'a2'] }]);
  });
});

describe('abandoned batches', () => {
  test('an abandoned batch makes no version, and the next ordinal is planned on the same base', () => {
    const state = { newestVersion: 4, planned: 6, trained: 4, abandoned: 1 }; // one more batch is owed
    const aged = group('a', [0, 1], { samples: [0, 1].map((i) => sample(`a${i}`, i, i, { oldestVersion: 4 })) });
    const decisions = plan([aged], { groupsPerBatch: 1, maxStaleness: 1 }, state);
    expect(batches(decisions)[0]).toMatchObject({ ordinal: 6, policyVersion: 5 });
    expect(batches(plan([group('a', [0, 1])], { groupsPerBatch: 1 }, { planned: 1, abandoned: 1 }))[0]).toMatchObject({
      ordinal: 1,
      policyVersion: 0,
    });
  });
});

describe('the group rule', () => {
  const withFailure = group('a', [0, 1, 1], {
    samples: [sample('a0', 0, 0), sample('a1', 1, 1, { outcome: 'failed' }), sample('a2', 2, 1)],
  });
  test('the rule `all` rejects a group with one unfit member', () => {
    expect(refusals(plan([withFailure]))).toEqual({ a0: 'incomplete-group', a1: 'failed', a2: 'incomplete-group' });
  });
  test('the rule `at least` accepts a group with enough fit members', () => {
    const decisions = plan([withFailure], { group: { kind: 'at-least', members: 2 }, groupsPerBatch: 1 });
    expect(refusals(decisions)).toEqual({ a1: 'failed' });
    expect(batches(decisions)[0]?.groups).toEqual([{ treeId: 'a', rolloutIds: ['a0', 'a2'] }]);
  });
  test('the rule `replace failed` takes the first fit members, as many as were planned', () => {
    const rules = { group: { kind: 'replace-failed' }, groupsPerBatch: 1 } as const;
    const decisions = plan([{ ...withFailure, planned: 1, samples: [...withFailure.samples].reverse().toReversed() }], {
      ...rules,
      zeroVariance: 'keep',
    });
    expect(refusals(decisions)).toEqual({ a1: 'failed', a2: 'not-needed' });
    expect(refusals(plan([withFailure], rules))).toMatchObject({ a0: 'incomplete-group' });
  });
  test('failed members do not count in the variance of their group', () => {
    const same = group('a', [1, 1], { samples: [...group('a', [1, 1]).samples, sample('a2', 2, 0, { outcome: 'cancelled' })] });
    const decisions = plan([same], { group: { kind: 'at-least', members: 2 } });
    expect(refusals(decisions)).toEqual({ a0: 'zero-variance', a1: 'zero-variance', a2: 'cancelled' });
  });
});

describe('groups read before their batch is full', () => {
  const cut = (id: string) =>
    group(id, [0, 1, 0, 1], {
      samples: [0, 1, 0, 1].map((score, i) =>
        sample(`${id}${i}`, i, score, i === 3 ? { outcome: 'truncated', rejected: null } : {}),
      ),
    });
  const rules = { truncated: 'reject', group: { kind: 'at-least', members: 2 } } as const;

  test('a group keeps its good members when a truncated one is already recorded as rejected', () => {
    expect(refusals(plan([cut('a')], rules))).toEqual({ a3: 'filtered' });
    const rejected = { reason: 'filtered', rule: 'a limit cut the rollout', measured: 1 } as const;
    const seen = { ...cut('a'), samples: cut('a').samples.map((each, i) => (i === 3 ? { ...each, rejected } : each)) };
    const decisions = plan([seen, group('b', [0, 1])], rules);
    expect(refusals(decisions)).toEqual({});
    expect(batches(decisions)[0]?.samples).toBe(5);
  });

  test('a group is judged without later arrivals: a later member, or a later reward where nobody waits for rewards', () => {
    const members = [sample('a0', 0, 0), sample('a1', 1, 1), sample('a2', 2, 1, { finishedMs: 100 })];
    const decisions = plan([group('a', [0, 1], { samples: members })], { groupsPerBatch: 1 });
    expect(refusals(decisions)).toEqual({ a2: 'not-needed' });
    expect(batches(decisions)[0]?.groups).toEqual([{ treeId: 'a', rolloutIds: ['a0', 'a1'] }]);
    const unscored = group('b', [0, 1], { samples: [sample('b0', 0, 0), sample('b1', 1, 1, { scoredMs: 100 })] });
    expect(refusals(plan([unscored]))).toEqual({ b0: 'incomplete-group', b1: 'unscored' });
  });

  test('a group becomes ready when the last awaited reward of its fit members arrives', () => {
    const late = (id: string, scoredMs: number, outcome: 'terminated' | 'failed' = 'terminated') =>
      group(id, [0, 1], {
        closedMs: 1,
        samples: [sample(`${id}0`, 0, 0), sample(`${id}1`, 1, 1), sample(`${id}2`, 2, 1, { scoredMs, outcome })],
      });
    const waiting = { groupsPerBatch: 2, unscored: 'wait', group: { kind: 'at-least', members: 2 }, maxStaleness: 1 } as const;
    const groups = [late('a', 30), late('b', 20), late('c', 40, 'failed'), late('d', 50)];
    expect(batches(plan(groups, waiting)).map(treesOf)).toEqual([
      ['b', 'c'],
      ['a', 'd'],
    ]);
  });
});

test('a group stops waiting for the reward of a member that is too old for the next batch, and precedes later groups', () => {
  const of = (version: number) => ({ oldestVersion: version, newestVersion: version });
  const waiting = group('a', [1, 0], {
    closedMs: 1,
    samples: [sample('a0', 0, 1, of(1)), sample('a1', 1, 0, { ...of(0), scoredMs: null })],
  });
  const [next, last] = [0, 1].map((version) =>
    group(`b${version}`, [1], { closedMs: 2 + version, samples: [sample(`b${version}`, 0, 1, of(version))] }),
  );
  const rules = { groupsPerBatch: 1, unscored: 'wait', group: { kind: 'at-least', members: 1 } } as const;
  const decisions = plan([waiting, ...[next, last].flatMap((each) => each ?? [])], rules);
  expect(batches(decisions).map(treesOf)).toEqual([['b0'], ['a']]);
  expect(refusals(decisions)).toEqual({ a1: 'stale', b1: 'stale' });
});

describe('filters', () => {
  test('filters read the metric of the environment, not shaped rewards', () => {
    const shaped = group('a', [1, 1], {
      samples: [1, 2].map((i) => sample(`a${i}`, i, 1, { scores: { environment: 1, format: i } })),
    });
    expect(Object.values(refusals(plan([shaped], { band: { low: 1, high: 1 } })))).toEqual([]);
    expect(Object.values(refusals(plan([group('b', [0, 1])], { band: { low: 0.6, high: 1 } })))).toEqual([
      'filtered',
      'filtered',
    ]);
  });
  test('filters reject untrainable members by name', () => {
    const of = (overrides: Partial<PoolSample>, rules: Partial<PlanRules> = {}) =>
      refusals(plan([group('a', [1], { samples: [sample('a', 0, 1, overrides)] })], rules)).a;
    expect(of({ sampledTokens: 0 })).toBe('empty');
    expect(of({ policies: ['p', 'q'] })).toBe('foreign-policy');
    expect(of({ contextTokens: 41 }, { maxTokens: 40 })).toBe('too-long');
    expect(of({ rowTokens: 41 }, { maxTokens: 40, layout: 'step' })).toBe('too-long');
    expect(of({ outcome: 'truncated' }, { truncated: 'reject' })).toBe('filtered');
    expect(of({ scores: { other: 1 }, scoredMs: null })).toBe('unscored');
    const alone = refusals(plan([group('a', [1])], {}, {}, 'rloo'));
    expect(alone).toEqual({ a0: 'singleton' });
    const anchorless = group('a', [0, 1], { samples: [sample('a0', 0, 0, { withoutAnchor: 1 }), sample('a1', 1, 1)] });
    expect(refusals(plan([anchorless], {}, {}, 'gigpo')).a0).toBe('incomplete-record');
  });
});

test('a rejection of a group that was begun is completed, whatever is revised meanwhile', () => {
  const rejected = { reason: 'zero-variance', rule: 'r', measured: 1 } as const;
  const revised = group('a', [0, 1], { samples: [sample('a0', 0, 0, { rejected }), sample('a1', 1, 1)] });
  expect(plan([revised])).toEqual([{ kind: 'reject', treeId: 'a', rolloutId: 'a1', ...rejected }]);
});

test('a group is refused for equal rewards by the sum that is trained on, not by the metric alone', () => {
  const shaped = [0.1, 0.9].map((f1, i) => sample(`a${i}`, i, 0, { scores: { environment: 0, 'answer-f1': f1 } }));
  const opposed = [0, 1].map((won, i) => sample(`b${i}`, i, won, { scores: { environment: won, penalty: -won } }));
  const groups = [group('a', [], { samples: shaped, planned: 2 }), group('b', [], { samples: opposed, planned: 2 })];
  const rewards = { environment: 1, 'answer-f1': 1, penalty: 1 };
  const decisions = plan(groups, { groupsPerBatch: 1, rewards, maxStaleness: null });
  expect(treesOf(batches(decisions)[0])).toEqual(['a']);
  expect(refusals(decisions)).toEqual({ b0: 'zero-variance', b1: 'zero-variance' });
});
