import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { configureEstimator } from '../advantages/estimators.ts';
import { type DraftBatch, planBatches } from './plan-batches.ts';
import type { PlanRules } from './plan-rules.ts';
import type { PoolGroup, PoolSample } from './pool.ts';
import type { Rejection } from './record-fault.ts';

// The facts of a pool with the times at which they came; a look at a time sees those that came before.

const END = 1_000;

const members = fc.array(
  fc.record({
    finishedMs: fc.nat(60),
    /** The reward of the metric comes so much later; null: never. */
    scored: fc.option(fc.constantFrom(0, 0, 0, 15, 40), { freq: 8 }),
    score: fc.constantFrom(0, 0.5, 1),
    outcome: fc.constantFrom<PoolSample['outcome']>('terminated', 'terminated', 'terminated', 'truncated', 'failed'),
    lag: fc.nat(2),
    withoutLogProbs: fc.constantFrom(0, 0, 1),
    recordFault: fc.constantFrom(null, null, null, null, {
      reason: 'incomplete-record' as const,
      rule: 'its path holds 1 of 2 steps',
      measured: null,
    }),
  }),
  { minLength: 1, maxLength: 4 },
);

const pool = fc
  .array(
    fc.record({
      members,
      begun: fc.nat(120),
      /** When it closes after its last member; before it, where negative; null: never. */
      closes: fc.option(fc.integer({ min: -10, max: 30 }), { freq: 8 }),
      greedy: fc.option(fc.nat(80), { freq: 4 }),
    }),
    { maxLength: 16 },
  )
  .map((drawn) =>
    drawn.map(({ begun, closes, greedy, members: recorded }, i): PoolGroup => {
      const samples = recorded.map(({ scored, lag, score, finishedMs, ...facts }, ordinal): PoolSample => {
        const version = Math.max(0, Math.floor((begun + finishedMs) / 40) - lag);
        return {
          ...facts,
          rolloutId: `${i}.${ordinal}`,
          ordinal,
          steps: 1,
          sampledTokens: 10,
          contextTokens: 30,
          rowTokens: 50,
          oldestVersion: version,
          newestVersion: version,
          policies: ['p'],
          withoutAnchor: 0,
          rejected: null,
          scores: { environment: score },
          finishedMs: begun + finishedMs,
          scoredMs: scored === null ? null : begun + finishedMs + scored,
        };
      });
      const last = Math.max(...samples.map(({ finishedMs }) => finishedMs));
      const closedMs = closes === null ? null : Math.max(begun, last + closes);
      const treeId = String(100 + i);
      return {
        treeId,
        closedMs,
        taken: false,
        planned: recorded.length,
        samples,
        greedyMs: greedy === null ? null : begun + greedy,
      };
    }),
  );

const rulesOf = fc.record({
  groupsPerBatch: fc.integer({ min: 1, max: 3 }),
  maxStaleness: fc.option(fc.nat(2)),
  group: fc.constantFrom<PlanRules['group']>({ kind: 'all' }, { kind: 'at-least', members: 1 }, { kind: 'replace-failed' }),
  truncated: fc.constantFrom<PlanRules['truncated']>('keep', 'reject'),
  unscored: fc.constantFrom<PlanRules['unscored']>('wait', 'reject'),
  offPolicy: fc.constantFrom<PlanRules['offPolicy']>('any', 'log-probs'),
  band: fc.constantFrom(null, { low: 0.25, high: 0.9 }),
});

test('the same facts yield the same batches and rejections, whenever they are read and acknowledged', () => {
  const looks = fc.array(fc.nat(260), { maxLength: 12 });
  const estimators = fc.constantFrom('grpo', 'remax', 'rloo');
  fc.assert(
    fc.property(pool, rulesOf, estimators, looks, fc.infiniteStream(fc.boolean()), (groups, rules, estimator, times, acks) => {
      const once = live(groups, rules, estimator, [], () => false);
      const often = live(groups, rules, estimator, times, () => acks.next().value === true);
      expect(often).toEqual(once);
    }),
    { numRuns: 125 },
  );
});

/**
 * Plans at the times given and at the end, each time from what had come and what was decided before; trainers acknowledge when
 * `acks` says so.
 */
function live(
  groups: readonly PoolGroup[],
  overrides: Partial<PlanRules>,
  estimator: string,
  times: readonly number[],
  acks: () => boolean,
) {
  const chosen = configureEstimator(estimator, {});
  if (chosen.kind === 'refused') throw new Error(chosen.reason);
  const { readiness } = chosen.estimator;
  const rules: PlanRules = {
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
    ...overrides,
  };
  const ends = new Map<string, Rejection | 'batch'>();
  const batches: DraftBatch[] = [];
  let trained = 0;
  for (const atMs of [...times].sort((a, b) => a - b).concat(END)) {
    const state = { policyId: 'p', newestVersion: trained, planned: batches.length, trained, abandoned: 0 };
    for (const decision of planBatches({ state, rules, readiness, seed: 1, groups: seenAt(groups, atMs, ends) })) {
      const of = decision.kind === 'plan' ? decision.batch.groups.flatMap((each) => each.rolloutIds) : [decision.rolloutId];
      for (const rolloutId of of) {
        expect(ends.has(rolloutId)).toBe(false); // a sample ends once
        ends.set(rolloutId, decision.kind === 'plan' ? 'batch' : decision);
      }
      if (decision.kind === 'plan') batches.push(decision.batch);
    }
    while (trained < batches.length && acks()) trained += 1;
  }
  const reasons = [...ends].map(([id, end]) => `${id} ${end === 'batch' ? end : end.reason}`).sort();
  return { batches, reasons };
}

/**
 * What the read models hold at a time: groups with a finished member of which nothing is decided, and of them the members that no
 * batch holds.
 */
function seenAt(
  groups: readonly PoolGroup[],
  atMs: number,
  ends: ReadonlyMap<string, Rejection | 'batch'>,
): readonly PoolGroup[] {
  const by = (ms: number | null) => (ms === null || ms > atMs ? null : ms);
  return groups.flatMap((group): PoolGroup[] => {
    const finished = group.samples.filter(({ finishedMs }) => finishedMs <= atMs);
    if (finished.every(({ rolloutId }) => ends.has(rolloutId))) return [];
    const samples = finished.flatMap((sample): PoolSample[] => {
      const end = ends.get(sample.rolloutId);
      if (end === 'batch') return [];
      return [{ ...sample, scoredMs: by(sample.scoredMs), rejected: end ?? null }];
    });
    const taken = samples.length < finished.length;
    return [{ ...group, samples, taken, closedMs: by(group.closedMs), greedyMs: by(group.greedyMs) }];
  });
}
