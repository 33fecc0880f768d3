import fc from 'fast-check';
import type { EstimatorBatch } from './advantages/estimator.ts';
import type { PolicyLossInput } from './losses/policy-loss.ts';
import type { Masks, Rows } from './rows/rows.ts';

/** Builds a batch from plain arrays; every row is a trajectory of its own in one group unless overridden. */
export function givenBatch(
  rewards: readonly (readonly number[])[],
  masks: readonly (readonly number[])[],
  rest: Partial<EstimatorBatch> = {},
): EstimatorBatch {
  return {
    rewards: givenRows(rewards),
    masks: masks.map((row) => Uint8Array.from(row)),
    groups: rewards.map(() => 'g'),
    trajectories: rewards.map((_, row) => `t${row}`),
    steps: rewards.map(() => 0),
    values: null,
    bootstraps: null,
    anchors: null,
    stepRewards: null,
    stepParts: null,
    greedyScores: null,
    oldLogProbs: null,
    squaredProbs: null,
    rolloutWeights: null,
    ...rest,
  };
}

export function givenRows(rows: readonly (readonly number[])[]): Float64Array[] {
  return rows.map((row) => Float64Array.from(row));
}

/**
 * Multiples of 1/32, with many ties: sums of them are exact, so that no rule that asks for 0 or for equality hangs on the order
 * of a sum.
 */
export const someNumber = fc.oneof(
  fc.integer({ min: -96, max: 96 }).map((n) => n / 32),
  fc.constantFrom(0, 1, -0.5),
);

/**
 * Batches of steps of trajectories of groups, every column filled, each row with a trained token and each group with two
 * trajectories or more.
 */
export const someBatch: fc.Arbitrary<EstimatorBatch> = fc
  .array(fc.array(fc.array(someRow(), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((groups) => {
    const rows = groups.flatMap((trajectories, g) => {
      return trajectories.flatMap((steps, t) =>
        steps.map((row, step) => ({ ...row, group: `g${g}`, trajectory: `g${g}t${t}`, step })),
      );
    });
    return {
      rewards: rows.map(({ tokens }) => Float64Array.from(tokens, ({ reward }) => reward)),
      values: rows.map(({ tokens }) => Float64Array.from(tokens, ({ value }) => value)),
      masks: rows.map(({ tokens }) => Uint8Array.from(tokens, ({ trained }, t) => (t === 0 || trained ? 1 : 0))),
      groups: rows.map(({ group }) => group),
      trajectories: rows.map(({ trajectory }) => trajectory),
      steps: rows.map(({ step }) => step),
      anchors: rows.map(({ anchor }) => anchor),
      stepRewards: rows.map(({ stepReward }) => stepReward),
      stepParts: [{ component: 'compression', weight: 0.5, values: rows.map(({ stepReward }) => stepReward) }],
      greedyScores: rows.map(({ group }) => group.length + 0.25),
      bootstraps: rows.map(() => 0),
      oldLogProbs: rows.map(({ tokens }) => Float64Array.from(tokens, ({ value }) => -0.1 - Math.abs(value))),
      squaredProbs: rows.map(({ tokens }) => Float64Array.from(tokens, ({ reward }) => Math.exp(-0.1 - Math.abs(reward)))),
      rolloutWeights: null,
    };
  });

function someRow() {
  return fc.record({
    tokens: fc.array(fc.record({ reward: someNumber, value: someNumber, trained: fc.boolean() }), { minLength: 1, maxLength: 4 }),
    anchor: fc.constantFrom('kitchen', 'garden', 'hall'),
    stepReward: someNumber,
  });
}

/** Inputs of a policy loss; probabilities move by up to a factor of e² and every batch has a trained token. */
export const somePolicyInput: fc.Arbitrary<PolicyLossInput> = fc
  .array(
    fc.array(
      fc.record({
        old: someGridPoint(-4, -0.1),
        move: someGridPoint(-2, 2),
        advantage: someGridPoint(-2, 2),
        weight: someGridPoint(0.1, 2),
        trained: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((rows) => ({
    oldLogProbs: rows.map((row) => Float64Array.from(row, ({ old }) => old)),
    logProbs: rows.map((row) => Float64Array.from(row, ({ old, move }) => old + move)),
    advantages: rows.map((row) => Float64Array.from(row, ({ advantage }) => advantage)),
    weights: rows.map((row) => Float64Array.from(row, ({ weight }) => weight)),
    masks: rows.map((row, i) => Uint8Array.from(row, ({ trained }, t) => (trained || (i === 0 && t === 0) ? 1 : 0))),
  }));

/** Points of a grid of thousandths, off by 0.37 of one: not at 0, and not at the kinks of clipped losses. */
function someGridPoint(min: number, max: number): fc.Arbitrary<number> {
  return fc.integer({ min: Math.ceil(min * 1_000), max: Math.floor(max * 1_000) - 1 }).map((n) => (n + 0.37) / 1_000);
}

/** Moves one entry of one row. */
export function moved(rows: Rows, row: number, t: number, by: number): Float64Array[] {
  return rows.map((own, i) => own.map((value, j) => (i === row && j === t ? value + by : value)));
}

/** Central differences of a function of rows, token by token. */
export function finiteDifferences(rows: Rows, f: (rows: Rows) => number, h = 1e-5): Float64Array[] {
  return rows.map((own, row) => own.map((_, t) => (f(moved(rows, row, t, h)) - f(moved(rows, row, t, -h))) / (2 * h)));
}

/** The largest absolute difference over the tokens of both. */
export function largestGap(a: Rows, b: Rows, masks?: Masks): number {
  let largest = 0;
  for (const [row, own] of a.entries()) {
    for (const [t, value] of own.entries()) {
      if (masks?.[row]?.[t] === 0) continue;
      const gap = Math.abs(value - (b[row]?.[t] ?? Number.NaN));
      largest = Number.isNaN(gap) ? Number.POSITIVE_INFINITY : Math.max(largest, gap);
    }
  }
  return largest;
}
