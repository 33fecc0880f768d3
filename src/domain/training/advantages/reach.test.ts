import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { OptionRules } from '../method-options.ts';
import type { Rows } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { someBatch } from '../training-testing.ts';
import type { ConfiguredEstimator, EstimatorBatch } from './estimator.ts';
import { configureEstimator, ESTIMATORS } from './estimators.ts';

/** Every word of every choice with every other, and numbers of their whole range. */
function someOptions(rules: OptionRules): fc.Arbitrary<Readonly<Record<string, string | number>>> {
  return fc.record(
    Object.fromEntries(
      Object.entries(rules).map(([name, rule]): [string, fc.Arbitrary<string | number>] => [
        name,
        rule.kind === 'choice'
          ? fc.constantFrom(...rule.of)
          : fc.oneof(
              fc.constant(rule.default),
              fc.double({ min: rule.least, max: Math.min(rule.most, 10), noNaN: true, minExcluded: true }),
            ),
      ]),
    ),
  );
}

/** Batches whose sums are rounded: of steps of trajectories, or of whole ones, with tokens of tools between or without. */
const someRoundedBatch: fc.Arbitrary<EstimatorBatch> = fc
  .record({ batch: someBatch, unit: fc.double({ min: 0.01, max: 9, noNaN: true }), split: fc.boolean(), tools: fc.boolean() })
  .map(({ batch, unit, split, tools }) => ({
    ...batch,
    rewards: batch.rewards.map((row) => row.map((reward) => reward * unit)),
    masks: tools ? batch.masks : batch.masks.map((mask) => mask.map(() => 1)),
    ...(split ? {} : { trajectories: batch.masks.map((_, row) => `${row}`), steps: batch.masks.map(() => 0) }),
  }));

function configured(name: string, options: Readonly<Record<string, unknown>>): ConfiguredEstimator {
  const found = configureEstimator(name, options);
  if (found.kind === 'refused') throw new Error(found.reason);
  return found.estimator;
}

function rowsAt(batch: EstimatorBatch, places: readonly number[]): EstimatorBatch {
  const pick = <T>(column: ArrayLike<T>): T[] => places.map((row) => column[row] as T); // places are rows of the batch
  const maybe = <T>(column: ArrayLike<T> | null) => (column === null ? null : pick(column));
  return {
    rewards: pick(batch.rewards),
    masks: pick(batch.masks),
    groups: pick(batch.groups),
    steps: pick(batch.steps),
    trajectories: pick(batch.trajectories),
    values: maybe(batch.values),
    bootstraps: maybe(batch.bootstraps),
    anchors: maybe(batch.anchors),
    stepRewards: maybe(batch.stepRewards),
    greedyScores: maybe(batch.greedyScores),
    stepParts: batch.stepParts?.map((part) => ({ ...part, values: pick(part.values) })) ?? null,
    oldLogProbs: maybe(batch.oldLogProbs),
    squaredProbs: maybe(batch.squaredProbs),
    rolloutWeights: null,
  };
}

/** The bits of what is estimated for each group: in its batch, and of its rows alone. Empty where the batch is refused. */
function apartOf(estimator: ConfiguredEstimator, batch: EstimatorBatch) {
  const whole = estimator.estimate(batch);
  if (whole.kind === 'refused') return [];
  return [...positionsByKey(batch.groups).values()].map((places) => {
    const alone = estimator.estimate(rowsAt(batch, places));
    const within = (rows: Rows) => bitsOf(places.map((row) => rows[row] as Float64Array)); // places are rows of the batch
    return {
      inBatch: [within(whole.advantages), within(whole.returns)],
      alone: alone.kind === 'refused' ? alone.reason : [bitsOf(alone.advantages), bitsOf(alone.returns)],
    };
  });
}

function bitsOf(rows: Rows): readonly string[] {
  return rows.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString('hex'));
}

describe.each(Object.values(ESTIMATORS))('$name', ({ name, options }) => {
  test('where it reaches as far as a group, the group alone yields what it has in its batch, to the last bit', () => {
    let compared = 0;
    fc.assert(
      fc.property(someOptions(options), someRoundedBatch, (chosen, batch) => {
        const estimator = configured(name, chosen);
        if (estimator.reach !== 'group') return;
        for (const { inBatch, alone } of apartOf(estimator, batch)) {
          expect(alone).toEqual(inBatch);
          compared += 1;
        }
      }),
      { numRuns: 100 },
    );
    const reaches = fc.sample(someOptions(options), 50).some((chosen) => configured(name, chosen).reach === 'group');
    expect(compared > 0).toBe(reaches);
  });

  test('where it reaches as far as the batch, a group alone yields something else', () => {
    const chosen = fc.sample(someOptions(options), 200).filter((each) => configured(name, each).reach === 'batch');
    const differs = (each: (typeof chosen)[number]) =>
      fc
        .sample(someRoundedBatch, 100)
        .some((batch) => apartOf(configured(name, each), batch).some(({ inBatch, alone }) => `${alone}` !== `${inBatch}`));
    expect(chosen.slice(0, 8).filter((each) => !differs(each))).toEqual([]);
  });
});
