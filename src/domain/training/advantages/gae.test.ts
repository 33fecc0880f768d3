import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givenBatch, givenRows, largestGap, someBatch } from '../training-testing.ts';
import { configureEstimator } from './estimators.ts';
import { carryGae, compactGae, denseGae, type GaeInput, stepGae, tokenGaeAcrossSteps } from './gae.ts';

const decay = { gamma: 0.9, lambda: 0.8 };
const inputOf = ({
  rewards,
  values,
  masks,
  bootstraps,
}: typeof someBatch extends fc.Arbitrary<infer B> ? B : never): GaeInput => {
  return { rewards, values: values ?? [], masks, bootstraps };
};

describe('GAE', () => {
  test('the carried and the compact variant agree on every trained token', () => {
    fc.assert(
      fc.property(someBatch, (batch) => {
        const [carried, compact] = [carryGae(inputOf(batch), decay), compactGae(inputOf(batch), decay)];
        expect(largestGap(carried.raw, compact.raw, batch.masks)).toBe(0);
        expect(largestGap(carried.returns, compact.returns, batch.masks)).toBe(0);
      }),
    );
  });

  test('the dense and the carried variant agree where every token is trained', () => {
    fc.assert(
      fc.property(someBatch, (batch) => {
        const input = { ...inputOf(batch), masks: batch.masks.map((mask) => new Uint8Array(mask.length).fill(1)) };
        expect(largestGap(denseGae(input, decay).raw, carryGae(input, decay).raw)).toBe(0);
      }),
    );
  });

  test('values of untrained tokens do not influence the trained ones', () => {
    fc.assert(
      fc.property(someBatch, fc.double({ min: -99, max: 99, noNaN: true }), (batch, garbage) => {
        const input = inputOf(batch);
        const values = input.values.map((row, i) => row.map((v, t) => (batch.masks[i]?.[t] === 1 ? v : garbage)));
        expect(largestGap(carryGae(input, decay).raw, carryGae({ ...input, values }, decay).raw)).toBe(0);
      }),
    );
  });

  test.each([
    ['inside', [1, 0, 1]],
    ['after', [1, 1, 0]],
  ])('the dense variant refuses an untrained token that lies %s', (_where, mask) => {
    const found = configureEstimator('gae', { variant: 'dense' });
    const batch = givenBatch([[0, 0, 1]], [mask], { values: givenRows([[1, 9, 1]]) });
    expect(found.kind === 'configured' && found.estimator.estimate(batch)).toEqual({
      kind: 'refused',
      reason: expect.stringContaining('row 0 has one after a trained token; choose carry or compact'),
    });
  });

  test('the dense variant is computed when no untrained token follows a trained one', () => {
    const found = configureEstimator('gae', { variant: 'dense' });
    const batch = givenBatch([[0, 0, 1]], [[0, 1, 1]], { values: givenRows([[1, 0.5, 0.25]]) });
    expect(found.kind === 'configured' && found.estimator.estimate(batch)).toMatchObject({ kind: 'estimated' });
  });

  test('a truncated row is bootstrapped with the value of its last state, and a terminated one is not', () => {
    const input = { rewards: givenRows([[0], [0]]), values: givenRows([[1], [1]]), masks: [Uint8Array.of(1), Uint8Array.of(1)] };
    const { raw, returns } = carryGae({ ...input, bootstraps: [0, 2] }, { gamma: 0.5, lambda: 1 });
    expect(raw).toEqual(givenRows([[-1], [0]]));
    expect(returns).toEqual(givenRows([[0], [1]]));
    const order = { trajectories: ['a', 'b'], steps: [0, 0] };
    expect(Array.from(stepGae({ ...input, bootstraps: [0, 2] }, order, { gamma: 0.5, lambda: 1 }).raw)).toEqual([-1, 0]);
    expect(tokenGaeAcrossSteps({ ...input, bootstraps: [0, 2] }, order, { gamma: 0.5, lambda: 1 }).raw).toEqual(raw);
  });

  test('the token and the step variants agree over steps of one token each', () => {
    fc.assert(
      fc.property(someBatch, (batch) => {
        const first = (rows: readonly Float64Array[]) => rows.map((row) => row.slice(0, 1));
        const input = {
          rewards: first(batch.rewards),
          values: first(batch.values ?? []),
          masks: batch.masks.map(() => Uint8Array.of(1)),
          bootstraps: null,
        };
        const [steps, tokens] = [stepGae(input, batch, decay), tokenGaeAcrossSteps(input, batch, decay)];
        expect(Array.from(steps.raw)).toEqual(tokens.raw.map(([a]) => a));
        expect(Array.from(steps.returns)).toEqual(tokens.returns.map(([r]) => r));
      }),
    );
  });
});
