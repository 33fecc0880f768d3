import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givenBatch, givenRows, largestGap, someBatch } from '../training-testing.ts';
import type { ConfiguredEstimator, Estimated, EstimatorBatch } from './estimator.ts';
import { configureEstimator, ESTIMATORS } from './estimators.ts';
import { orderTrajectories } from './gae.ts';

function configured(name: string, options: Readonly<Record<string, unknown>> = {}): ConfiguredEstimator {
  const found = configureEstimator(name, options);
  if (found.kind === 'refused') throw new Error(found.reason);
  return found.estimator;
}

function estimated(name: string, options: Readonly<Record<string, unknown>>, batch: EstimatorBatch): Estimated {
  const found = configured(name, options).estimate(batch);
  if (found.kind === 'refused') throw new Error(found.reason);
  return found;
}

const EVERY_MODE: readonly (readonly [name: string, options: Readonly<Record<string, unknown>>])[] = [
  ['gae', { variant: 'carry', gamma: 0.9, lambda: 0.8 }],
  ['gae', { variant: 'compact', gamma: 0.9, lambda: 0.8 }],
  ['gae', { variant: 'step', gamma: 0.9, lambda: 0.8 }],
  ['gae', { variant: 'token-across-steps', gamma: 0.9, lambda: 0.8 }],
  ['grpo', {}],
  ['grpo', { over: 'rows' }],
  ['grpo', { over: 'trajectories', scale: 'floored-std' }],
  ['grpo', { over: 'trajectory-sums', scale: 'none', scores: 'trained-tokens' }],
  ['pass_at_k', {}],
  ['reinforce_plus_plus', { gamma: 0.9 }],
  ['reinforce_plus_plus', { variant: 'shipped', gamma: 0.9, over: 'rows' }],
  ['reinforce_plus_plus', { variant: 'compact', gamma: 0.9 }],
  ['reinforce_plus_plus_baseline', {}],
  ['reinforce_step', { gamma: 0.9 }],
  ['rloo', {}],
  ['remax', {}],
  ['opo', {}],
  ['gpg', { fNorm: 2 }],
  ['gigpo', { gamma: 0.9 }],
  ['optimal_token_baseline', {}],
  ['step_parts_grpo', {}],
  ['step_parts_grpo', { parts: 'decoupled', scale: 'floored-deviation', whiten: 'batch' }],

  ['gigpo', { mode: 'mean_norm', episode: 'rows', anchors: 'similar' }],
];

/** Draws batches that a mode takes: with trajectories of several rows, unless it is of whole rows. */
function batchesFor({ variant }: Readonly<Record<string, unknown>>): typeof someBatch {
  if (variant !== 'carry' && variant !== 'compact') return someBatch;
  return someBatch.map((batch) => ({
    ...batch,
    trajectories: batch.masks.map((_, row) => `${row}`),
    steps: batch.masks.map(() => 0),
  }));
}

const SINGLETON: Readonly<Record<string, object>> = { rloo: { singleton: 'raw' } }; // which refuses a group of one else

describe('every estimator', () => {
  const ofTrainedTokens = Object.values(ESTIMATORS).filter(({ options }) => Object.hasOwn(options, 'scores'));

  test.each(ofTrainedTokens.map(({ name }) => name))('%s with scores of trained tokens loses rewards on others', (name) => {
    fc.assert(
      fc.property(someBatch, (batch) => {
        const masked = batch.rewards.map((row, i) => row.map((value, t) => (batch.masks[i]?.[t] === 1 ? value : 0)));
        const lost = estimated(name, { ...SINGLETON[name], scores: 'trained-tokens' }, batch);
        const none = estimated(name, { ...SINGLETON[name] }, { ...batch, rewards: masked });
        expect(lost.advantages).toEqual(none.advantages);
      }),
    );
  });

  test('the list of tested modes includes every estimator', () => {
    expect(new Set(EVERY_MODE.map(([name]) => name))).toEqual(new Set(Object.keys(ESTIMATORS)));
  });

  test.each(EVERY_MODE)('%s %o ignores padding at the end of rows, whatever it holds', (name, options) => {
    fc.assert(
      fc.property(batchesFor(options), fc.double({ min: -9, max: 9, noNaN: true }), (batch, garbage) => {
        fc.pre(batch.masks.flatMap((mask) => [...mask]).reduce((a, b) => a + b, 0) > 1);
        const longer = (rows: readonly Float64Array[], value: number) => rows.map((row) => Float64Array.of(...row, value, value));
        const padded: EstimatorBatch = {
          ...batch,
          rewards: longer(batch.rewards, 0),
          values: longer(batch.values ?? [], garbage),
          oldLogProbs: longer(batch.oldLogProbs ?? [], garbage),
          squaredProbs: longer(batch.squaredProbs ?? [], garbage),
          masks: batch.masks.map((mask) => Uint8Array.of(...mask, 0, 0)),
        };
        const [plain, wide] = [estimated(name, options, batch), estimated(name, options, padded)];
        expect(largestGap(plain.advantages, wide.advantages, batch.masks)).toBeLessThan(1e-9);
        expect(largestGap(plain.returns, wide.returns, batch.masks)).toBeLessThan(1e-9);
      }),
      { numRuns: 5 },
    );
  });

  // Where each trajectory counts once, its score is that of its first row: there the order does matter.
  test.each(EVERY_MODE.filter(([, { over }]) => over !== 'trajectories'))(
    'the result of %s %o does not depend on the order of rows',
    (name, options) => {
      fc.assert(
        fc.property(batchesFor(options), fc.infiniteStream(fc.nat()), (batch, keys) => {
          // Equal best scores: which of two rows is the best one is a matter of order, and the advantage is 0 for both.
          const order = batch.masks
            .map((_, row) => ({ row, key: keys.next().value }))
            .sort((a, b) => a.key - b.key || a.row - b.row);
          const pick = <T>(column: ArrayLike<T>): T[] => order.map(({ row }) => column[row] as T); // rows of the batch
          const shuffled: EstimatorBatch = {
            rewards: pick(batch.rewards),
            masks: pick(batch.masks),
            values: pick(batch.values ?? []),
            groups: pick(batch.groups),
            trajectories: pick(batch.trajectories),
            steps: pick(batch.steps),
            anchors: pick(batch.anchors ?? []),
            stepRewards: pick(batch.stepRewards ?? []),
            stepParts: (batch.stepParts ?? []).map((part) => ({ ...part, values: pick(part.values) })),
            greedyScores: pick(batch.greedyScores ?? []),
            bootstraps: pick(batch.bootstraps ?? []),
            oldLogProbs: pick(batch.oldLogProbs ?? []),
            squaredProbs: pick(batch.squaredProbs ?? []),
            rolloutWeights: null,
          };
          const [plain, other] = [estimated(name, options, batch), estimated(name, options, shuffled)];
          expect(largestGap(pick(plain.advantages), other.advantages)).toBeLessThan(1e-9);
        }),
        { numRuns: 5 },
      );
    },
  );

  test('an estimator records its name, revision and every option, defaults included', () => {
    expect(configured('gae', { gamma: 0.5 })).toMatchObject({
      name: 'gae',
      revision: '1',
      mode: { variant: 'token-across-steps', gamma: 0.5, lambda: 1 },
    });
  });

  test.each([
    ['ppo', {}, /there is no estimator ppo; there are gae, grpo/],
    ['toString', {}, /there is no estimator toString/],
    ['gae', { gama: 1 }, /estimator gae: there is no option gama; there are variant, gamma, lambda/],
    ['gae', { gamma: 1.1 }, /gamma is a number from 0 to 1, not 1.1/],
    ['gae', { gamma: '1' }, /gamma is a number/],
    ['gae', { gamma: Number.NaN }, /gamma is a number/],
    ['grpo', { scale: 'variance' }, /scale is one of std, none, floored-std, not variance/],
  ])('%s with the options %o is refused', (name, options, reason) => {
    expect(configureEstimator(name, options)).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });
});

/** Joins the steps of each trajectory into one row, in their order. */
function merged(batch: EstimatorBatch): EstimatorBatch {
  const trajectories = orderTrajectories(batch.trajectories, batch.steps);
  const join = (rows: readonly Float64Array[] | null) => {
    return trajectories.map((own) => Float64Array.from(own.flatMap((row) => [...(rows?.[row] ?? [])])));
  };
  const firsts = trajectories.map((own) => own[0] ?? -1);
  return {
    ...givenBatch([], []),
    rewards: join(batch.rewards),
    values: join(batch.values),
    masks: trajectories.map((own) => Uint8Array.from(own.flatMap((row) => [...(batch.masks[row] ?? [])]))),
    groups: firsts.map((row) => batch.groups[row] ?? ''),
    trajectories: firsts.map((row) => batch.trajectories[row] ?? ''),
    steps: firsts.map(() => 0),
    greedyScores: firsts.map((row) => batch.greedyScores?.[row] ?? Number.NaN),
  };
}

describe('advantages of a trajectory', () => {
  test.each([
    ['gae', { variant: 'token-across-steps', gamma: 0.9, lambda: 0.8 }, { variant: 'carry', gamma: 0.9, lambda: 0.8 }],
    ['reinforce_plus_plus', { gamma: 0.9 }, { gamma: 0.9 }],
    ['reinforce_plus_plus_baseline', {}, {}],
    ['remax', {}, {}],
    ['grpo', {}, { over: 'rows' }],
    ['rloo', {}, { over: 'rows' }],
    ['opo', {}, { over: 'rows' }],
    ['gpg', {}, { over: 'rows' }],
    ['pass_at_k', {}, { over: 'rows' }],
  ])('%s yields the same advantages for one row as for a row per step', (name, asSteps, asRow) => {
    fc.assert(
      fc.property(someBatch, (batch) => {
        const whole = merged(batch);
        const split = estimated(name, asSteps, batch).advantages;
        const joined = merged({ ...batch, rewards: split }).rewards;
        expect(largestGap(joined, estimated(name, asRow, whole).advantages, whole.masks)).toBeLessThan(1e-9);
      }),
      { numRuns: 8 },
    );
  });

  test('a turn earns the rewards of later turns by the default of gae, in one row as in a row per turn', () => {
    // Two rollouts of two turns: the first ends with 1, the second with nothing; the critic says 0.5 everywhere.
    const rows = [[0], [1], [0], [0]];
    const values = givenRows(rows.map(() => [0.5]));
    const batch = givenBatch(
      rows,
      rows.map(() => [1]),
      { values, trajectories: ['r', 'r', 'q', 'q'], steps: [0, 1, 0, 1] },
    );
    const found = estimated('gae', {}, batch);
    expect(found.returns.map(([each]) => each)).toEqual([1, 1, 0, 0]);
    expect((found.advantages[0]?.[0] ?? 0) > 0.8 && (found.advantages[2]?.[0] ?? 0) < -0.8).toBe(true);
    for (const variant of ['carry', 'compact', 'dense'])
      expect(configured('gae', { variant }).estimate(batch)).toEqual({
        kind: 'refused',
        reason: expect.stringContaining('trajectory r has several: choose variant=token-across-steps'),
      });
  });

  test('REINFORCE++ as shipped refuses a trajectory of several rows, unless rows are declared independent', () => {
    const batch = givenBatch([[0], [1]], [[1], [1]], { trajectories: ['t', 't'], steps: [0, 1] });
    expect(configured('reinforce_plus_plus', { variant: 'shipped' }).estimate(batch)).toMatchObject({ kind: 'refused' });
    expect(configured('reinforce_plus_plus', { variant: 'shipped', over: 'rows' }).estimate(batch)).toMatchObject({
      returns: givenRows([[0], [1]]),
    });
    expect(configured('reinforce_plus_plus').estimate(batch)).toMatchObject({ returns: givenRows([[1], [1]]) });
  });
});

describe('readiness', () => {
  test.each([
    ['gae', {}, { waitsFor: 'rows', columns: ['values'], groupSize: 1, trainedTokens: 2, trainedSteps: 0, ends: 'needed' }],
    [
      'gae',
      { variant: 'step' },
      { waitsFor: 'rows', columns: ['values'], groupSize: 1, trainedTokens: 0, trainedSteps: 2, ends: 'needed' },
    ],
    [
      'reinforce_step',
      {},
      { waitsFor: 'rows', columns: [], groupSize: 1, trainedTokens: 0, trainedSteps: 2, ends: 'not-needed' },
    ],
    ['grpo', {}, { waitsFor: 'closed-groups', columns: [], groupSize: 1, trainedTokens: 0, trainedSteps: 0, ends: 'not-needed' }],
    [
      'grpo',
      { singleton: 'forbidden' },
      { waitsFor: 'closed-groups', columns: [], groupSize: 2, trainedTokens: 0, trainedSteps: 0, ends: 'not-needed' },
    ],
    [
      'pass_at_k',
      {},
      { waitsFor: 'closed-groups', columns: [], groupSize: 2, trainedTokens: 0, trainedSteps: 0, ends: 'not-needed' },
    ],
    ['rloo', {}, { waitsFor: 'closed-groups', columns: [], groupSize: 2, trainedTokens: 0, trainedSteps: 0, ends: 'not-needed' }],
    [
      'reinforce_plus_plus',
      {},
      { waitsFor: 'rows', columns: [], groupSize: 1, trainedTokens: 2, trainedSteps: 0, ends: 'not-needed' },
    ],
    [
      'remax',
      {},
      {
        waitsFor: 'greedy-sibling',
        columns: ['greedyScores'],
        groupSize: 1,
        trainedTokens: 0,
        trainedSteps: 0,
        ends: 'not-needed',
      },
    ],
    [
      'gigpo',
      {},
      { waitsFor: 'closed-groups', columns: ['anchors'], groupSize: 1, trainedTokens: 0, trainedSteps: 0, ends: 'not-needed' },
    ],
  ])('%s %o needs %o', (name, options, readiness) => {
    expect(configured(name, options).readiness).toEqual(readiness);
  });

  const two = givenBatch(
    [
      [0, 1],
      [0, 0],
    ],
    [
      [1, 1],
      [1, 1],
    ],
  );
  test.each<[string, string, EstimatorBatch, RegExp]>([
    ['no row', 'grpo', givenBatch([], []), /it has no row/],
    ['no values', 'gae', two, /it has no values/],
    ['no anchors', 'gigpo', two, /it has no anchors/],
    ['no greedy sibling', 'remax', two, /it has no greedyScores/],
    ['a group of one', 'rloo', { ...two, groups: ['g', 'h'] }, /group g has 1 member, 2 are needed/],
    ['two steps of one trajectory as a group', 'rloo', { ...two, trajectories: ['t', 't'], steps: [0, 1] }, /1 member/],
    ['one trained token', 'reinforce_plus_plus', givenBatch([[1, 0]], [[1, 0]]), /1 trained tokens, 2 are needed/],
    ['one step', 'reinforce_step', givenBatch([[1, 0]], [[1, 1]]), /it has 1 steps, 2 are needed/],
    [
      'rewards of another length',
      'grpo',
      { ...two, rewards: givenRows([[1], [0, 0]]) },
      /row 0 of rewards has 1 tokens where its mask has 2/,
    ],
    ['a missing group name', 'grpo', { ...two, groups: ['g'] }, /groups has 1 entries for 2 rows/],
    [
      'a reward that is NaN',
      'grpo',
      {
        ...two,
        rewards: givenRows([
          [0, Number.NaN],
          [0, 0],
        ]),
      },
      /row 0 has a reward that is not finite/,
    ],
    [
      'a trajectory in two groups',
      'grpo',
      { ...two, trajectories: ['t', 't'], steps: [0, 1], groups: ['g', 'h'] },
      /trajectory t is in two groups/,
    ],
    ['one step recorded twice', 'grpo', { ...two, trajectories: ['t', 't'] }, /two rows are step 0 of trajectory t/],
  ])('a batch with %s is refused by %s', (_what, name, batch, reason) => {
    expect(configured(name).estimate(batch)).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });
});
