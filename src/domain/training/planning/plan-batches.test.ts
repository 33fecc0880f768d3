import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { configureEstimator } from '../advantages/estimators.ts';
import type { Rejection } from './judge-group.ts';
import { type Decision, type DraftBatch, planBatches } from './plan-batches.ts';
import type { PlanRules } from './plan-rules.ts';
import type { LineageState, PoolGroup, PoolSample } from './pool.ts';

const RULES: PlanRules = {
  ...{ groupsPerBatch: 2, group: { kind: 'all' }, maxStaleness: 0, offPolicy: 'any', metric: 'environment' },
  ...{
    unscored: 'reject',
    zeroVariance: 'reject',
    band: null,
    truncated: 'keep',
    maxTokens: null,
    layout: 'verl',
    tokenBudget: 1_000,
  },
};
const STATE: LineageState = { policyId: 'p', newestVersion: 0, planned: 0, trained: 0 };

function readinessOf(name: string) {
  const chosen = configureEstimator(name, {});
  if (chosen.kind === 'refused') throw new Error(chosen.reason);
  return chosen.estimator.readiness;
}

function sample(rolloutId: string, ordinal: number, score: number, overrides: Partial<PoolSample> = {}): PoolSample {
  return {
    ...{ rolloutId, ordinal, outcome: 'terminated', steps: 1, sampledTokens: 10, contextTokens: 30, rowTokens: 50 },
    ...{ oldestVersion: 0, newestVersion: 0, policies: ['p'], withoutLogProbs: 0, withoutAnchor: 0 },
    ...{ scores: { environment: score }, rejected: null },
    ...overrides,
  };
}

function group(treeId: string, scores: readonly number[], overrides: Partial<PoolGroup> = {}): PoolGroup {
  const samples = scores.map((score, i) => sample(`${treeId}${i}`, i, score));
  return { treeId, state: 'closed', planned: scores.length, samples, greedy: 'missing', ...overrides };
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
  test('holds exactly so many whole groups, in ready order; what is left waits', () => {
    const decisions = plan([group('a', [0, 1]), group('b', [0, 1]), group('c', [0, 1])], { maxStaleness: 1 });
    expect(batches(decisions)).toHaveLength(1);
    expect(treesOf(batches(decisions)[0])).toEqual(['a', 'b']);
    expect(refusals(decisions)).toEqual({});
  });

  test('is not held up by groups that are slow, unscored or without their greedy sibling', () => {
    const open = group('a', [0, 1], { state: 'open' });
    const unscored = group('b', [0, 1], { samples: [sample('b0', 0, 1), sample('b1', 1, 0, { scores: {} })] });
    const decisions = plan([open, unscored, group('c', [0, 1]), group('d', [0, 1])], { unscored: 'wait' });
    expect(treesOf(batches(decisions)[0])).toEqual(['c', 'd']);
    const greedy = plan([group('a', [0, 1]), group('b', [0, 1], { greedy: 'there' })], { groupsPerBatch: 1 }, {}, 'remax');
    expect(treesOf(batches(greedy)[0])).toEqual(['b']);
    expect(batches(greedy)).toHaveLength(1);
  });

  test('is cut into micro-batches within the token budget, every place in one of them', () => {
    const [batch] = batches(plan([group('a', [0, 1, 2]), group('b', [0, 1])], { tokenBudget: 70 }));
    expect(batch?.tokens).toBe(150);
    expect(batch?.shards.flat().sort()).toEqual([0, 1, 2, 3, 4]);
    for (const shard of batch?.shards ?? []) expect(shard.length * 30).toBeLessThanOrEqual(70);
  });

  test('has an order that the seed and its members decide, not the order in which they closed', () => {
    const groups = 'abcdefgh'.split('').map((id) => group(id, [0, 1]));
    const rules = { groupsPerBatch: 8 };
    const forwards = batches(plan(groups, rules));
    expect(batches(plan(groups.toReversed(), rules))).toEqual(forwards);
    const closed = groups.map(({ treeId }) => treeId);
    expect(forwards[0]?.groups.map(({ treeId }) => treeId)).not.toEqual(closed);
  });

  test('takes further groups until whitening has two tokens', () => {
    const single = (id: string) => group(id, [1], { samples: [sample(id, 0, 1, { sampledTokens: 1 })] });
    const rules = { groupsPerBatch: 1, zeroVariance: 'keep' } as const;
    const [batch] = batches(plan([single('a'), single('b')], rules, {}, 'reinforce_plus_plus'));
    expect(treesOf(batch)).toEqual(['a', 'b']);
  });
});

describe('staleness', () => {
  test('is measured on the oldest span, against the version that the batch will be trained on', () => {
    const spans = { oldestVersion: 3, newestVersion: 5 };
    const aged = (id: string) => group(id, [0, 1], { samples: [sample(`${id}0`, 0, 0, spans), sample(`${id}1`, 1, 1, spans)] });
    const state = { newestVersion: 4, planned: 7, trained: 6 }; // batch 6 is out: batch 7 is trained on version 5
    expect(batches(plan([aged('a'), aged('b')], { maxStaleness: 2 }, state))[0]).toMatchObject({ ordinal: 7, policyVersion: 5 });
    expect(refusals(plan([aged('a')], { maxStaleness: 1 }, state))).toEqual({ a0: 'stale', a1: 'stale' });
    expect(batches(plan([aged('a'), aged('b')], { maxStaleness: null }, { ...state, newestVersion: 99 }))).toHaveLength(1);
  });

  test('strictly on-policy: what is left of a version behind its batch is stale', () => {
    const decisions = plan([group('a', [0, 1]), group('b', [0, 1]), group('c', [0, 1])]);
    expect(batches(decisions)).toHaveLength(1);
    expect(refusals(decisions)).toEqual({ c0: 'stale', c1: 'stale' });
  });

  test('bounds a group that never closes: its members go when they are too old', () => {
    const open = group('a', [0, 1], { state: 'open' });
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

describe('the group rule', () => {
  const withFailure = group('a', [0, 1, 1], {
    samples: [sample('a0', 0, 0), sample('a1', 1, 1, { outcome: 'failed' }), sample('a2', 2, 1)],
  });
  test('all: one unfit member refuses the group', () => {
    expect(refusals(plan([withFailure]))).toEqual({ a0: 'incomplete-group', a1: 'failed', a2: 'incomplete-group' });
  });
  test('at least: enough fit members are the group', () => {
    const decisions = plan([withFailure], { group: { kind: 'at-least', members: 2 }, groupsPerBatch: 1 });
    expect(refusals(decisions)).toEqual({ a1: 'failed' });
    expect(batches(decisions)[0]?.groups).toEqual([{ treeId: 'a', rolloutIds: ['a0', 'a2'] }]);
  });
  test('replace failed: as many fit members as were planned, the first ones', () => {
    const rules = { group: { kind: 'replace-failed' }, groupsPerBatch: 1 } as const;
    const decisions = plan([{ ...withFailure, planned: 1, samples: [...withFailure.samples].reverse().toReversed() }], {
      ...rules,
      zeroVariance: 'keep',
    });
    expect(refusals(decisions)).toEqual({ a1: 'failed', a2: 'not-needed' });
    expect(refusals(plan([withFailure], rules))).toMatchObject({ a0: 'incomplete-group' });
  });
  test('members that failed do not count in the variance of the group', () => {
    const same = group('a', [1, 1], { samples: [...group('a', [1, 1]).samples, sample('a2', 2, 0, { outcome: 'cancelled' })] });
    const decisions = plan([same], { group: { kind: 'at-least', members: 2 } });
    expect(refusals(decisions)).toEqual({ a0: 'zero-variance', a1: 'zero-variance', a2: 'cancelled' });
  });
});

describe('filters', () => {
  test('look at the metric of the environment, not at shaped rewards', () => {
    const shaped = group('a', [1, 1], {
      samples: [1, 2].map((i) => sample(`a${i}`, i, 1, { scores: { environment: 1, format: i } })),
    });
    expect(Object.values(refusals(plan([shaped])))).toEqual(['zero-variance', 'zero-variance']);
    expect(Object.values(refusals(plan([group('b', [0, 1])], { band: { low: 0.6, high: 1 } })))).toEqual([
      'filtered',
      'filtered',
    ]);
  });
  test('refuse by name what cannot be trained on', () => {
    const of = (overrides: Partial<PoolSample>, rules: Partial<PlanRules> = {}) =>
      refusals(plan([group('a', [1], { samples: [sample('a', 0, 1, overrides)] })], rules)).a;
    expect(of({ sampledTokens: 0 })).toBe('empty');
    expect(of({ policies: ['p', 'q'] })).toBe('foreign-policy');
    expect(of({ contextTokens: 41 }, { maxTokens: 40 })).toBe('too-long');
    expect(of({ rowTokens: 41 }, { maxTokens: 40, layout: 'step' })).toBe('too-long');
    expect(of({ outcome: 'truncated' }, { truncated: 'reject' })).toBe('filtered');
    expect(of({ scores: { other: 1 } })).toBe('unscored');
    const alone = refusals(plan([group('a', [1])], {}, {}, 'rloo'));
    expect(alone).toEqual({ a0: 'singleton' });
    const anchorless = group('a', [0, 1], { samples: [sample('a0', 0, 0, { withoutAnchor: 1 }), sample('a1', 1, 1)] });
    expect(refusals(plan([anchorless], {}, {}, 'gigpo')).a0).toBe('incomplete-record');
  });
});

test('a refusal of a group that was begun is finished, whatever was revised since', () => {
  const rejected = { reason: 'zero-variance', rule: 'r', measured: 1 } as const;
  const revised = group('a', [0, 1], { samples: [sample('a0', 0, 0, { rejected }), sample('a1', 1, 1)] });
  expect(plan([revised])).toEqual([{ kind: 'reject', treeId: 'a', rolloutId: 'a1', ...rejected }]);
});

describe('planning', () => {
  /** A world in which groups become ready one after the other; some are slow, failed, without variance or older. */
  const told = fc.array(
    fc.record({
      scores: fc.array(fc.constantFrom(0, 0.5, 1), { minLength: 1, maxLength: 3 }),
      open: fc.boolean(),
      lag: fc.nat(2),
      failed: fc.nat(9),
    }),
    { maxLength: 24 },
  );
  const rulesOf = fc.record({
    groupsPerBatch: fc.integer({ min: 1, max: 3 }),
    maxStaleness: fc.option(fc.nat(2)),
    group: fc.constantFrom<PlanRules['group']>({ kind: 'all' }, { kind: 'at-least', members: 1 }, { kind: 'replace-failed' }),
  });

  test('at any cadence gives the same batches and rejections, and no sample two ends', () => {
    fc.assert(
      fc.property(
        told,
        rulesOf,
        fc.infiniteStream(fc.boolean()),
        fc.infiniteStream(fc.boolean()),
        (world, rules, looks, acks) => {
          const groups = world.map(({ scores, open, lag, failed }, i): PoolGroup => {
            const version = Math.max(0, Math.floor(i / 4) - lag);
            const samples = scores.map((score, j) => {
              const outcome = failed === j ? 'failed' : 'terminated';
              return sample(`${i}.${j}`, j, score, { oldestVersion: version, newestVersion: version, outcome });
            });
            return group(`${100 + i}`, scores, { samples, state: open && i % 5 === 0 ? 'open' : 'closed' });
          });
          const once = live(
            groups,
            rules,
            () => false,
            () => false,
          );
          const often = live(
            groups,
            rules,
            () => looks.next().value === true,
            () => acks.next().value === true,
          );
          expect(often.batches).toEqual(once.batches);
          expect(often.reasons).toEqual(once.reasons);
        },
      ),
      { numRuns: 300 },
    );
  });

  /** Lets the groups come one by one, plans when `looks` says so and at the end, and lets trainers acknowledge when `acks` says so. */
  function live(groups: readonly PoolGroup[], rules: Partial<PlanRules>, looks: () => boolean, acks: () => boolean) {
    const ends = new Map<string, Rejection | 'batch'>();
    const found: DraftBatch[] = [];
    let trained = 0;
    const look = (there: readonly PoolGroup[]) => {
      const unsettled = there.flatMap((each): PoolGroup[] => {
        const samples = each.samples.map((s) => ({ ...s, rejected: endOf(s) }));
        return each.samples.every((s) => ends.has(s.rolloutId)) ? [] : [{ ...each, samples }];
      });
      for (const decision of plan(unsettled, rules, { newestVersion: trained, planned: found.length, trained })) {
        const of =
          decision.kind === 'plan' ? decision.batch.groups.flatMap(({ rolloutIds }) => rolloutIds) : [decision.rolloutId];
        for (const rolloutId of of) {
          expect(ends.has(rolloutId)).toBe(false);
          ends.set(rolloutId, decision.kind === 'plan' ? 'batch' : decision);
        }
        if (decision.kind === 'plan') found.push(decision.batch);
      }
    };
    const endOf = ({ rolloutId }: PoolSample): Rejection | null => {
      const end = ends.get(rolloutId);
      return end === undefined || end === 'batch' ? null : end;
    };
    for (const [i] of groups.entries()) {
      if (looks()) look(groups.slice(0, i + 1));
      if (trained < found.length && acks()) trained += 1;
    }
    look(groups);
    const reasons = [...ends].map(([id, end]) => `${id} ${end === 'batch' ? 'batch' : end.reason}`).sort();
    return { batches: found, reasons };
  }
});
