import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRandom } from '../domain/random/random.ts';
import { anActRequest } from '../testing/act-request.ts';
import { FEATURE_BUCKETS } from './linear/features.ts';
import { demandOf } from './linear/recipe-demand.ts';
import { addScaled, logSoftmax, pick } from './linear/softmax.ts';
import { decodeWeights, encodeWeights, type LinearWeights, weightsDigest, zeroWeights } from './linear/weights.ts';
import { candidateLogProbs, gradientLogProb, linearPolicy } from './linear-policy.ts';

const never = new AbortController().signal;
const request = anActRequest();
const candidates = request.admissibleActions ?? [];

function drawnWeights(seed: number, version = 1): LinearWeights {
  const random = createRandom(seed);
  return { version, values: Float64Array.from({ length: FEATURE_BUCKETS }, () => random.next() * 2 - 1) };
}

const probabilities = (weights: LinearWeights, among = candidates, temperature = 1): number[] =>
  candidateLogProbs(weights, request, among, temperature).map(Math.exp);

describe('linear softmax', () => {
  test('version 0 is the uniform policy', () => {
    for (const p of probabilities(zeroWeights())) expect(p).toBeCloseTo(1 / 6, 12);
  });

  test('probabilities sum to 1 for any scores and temperature, without overflow', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40 }),
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        (scores, temperature) => {
          const total = logSoftmax(scores, temperature).reduce((sum, logProb) => sum + Math.exp(logProb), 0);
          expect(total).toBeCloseTo(1, 9);
        },
      ),
    );
  });

  test('the probability of an action does not depend on the order of the candidates', () => {
    const weights = drawnWeights(3);
    const expected = new Map(candidates.map((action, i) => [action, probabilities(weights)[i]]));
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const shuffled = createRandom(seed).shuffle(candidates);
        for (const [i, p] of probabilities(weights, shuffled).entries())
          expect(p).toBeCloseTo(expected.get(shuffled[i] ?? '') ?? -1, 12);
      }),
      { numRuns: 30 },
    );
  });

  test('temperature 0 shares all probability among the best, and is the limit of small temperatures', () => {
    expect(logSoftmax([1, 3, 3, 0], 0)).toEqual([Number.NEGATIVE_INFINITY, -Math.log(2), -Math.log(2), Number.NEGATIVE_INFINITY]);
    expect(logSoftmax([1, 3, 3, 0], 1e-3).map(Math.exp)).toEqual([0, 0.5, 0.5, 0]);
    expect(() => logSoftmax([1], -1)).toThrow(RangeError);
  });

  test('draws follow the probabilities', () => {
    const logProbs = [0.5, 0.2, 0.3].map(Math.log);
    const random = createRandom(11);
    const counts = [0, 0, 0];
    for (let i = 0; i < 30_000; i++) counts[pick(logProbs, random.next())]!++; // pick() stays below 3
    for (const [i, p] of [0.5, 0.2, 0.3].entries()) {
      expect(Math.abs((counts[i] ?? 0) - 30_000 * p)).toBeLessThan(5 * Math.sqrt(30_000 * p * (1 - p)));
    }
    expect(pick(logProbs, 1 - 2 ** -53)).toBe(2);
  });
});

describe('linear policy', () => {
  test('an act names its candidate by position, with the exact log-probability of the draw', async () => {
    const weights = drawnWeights(3, 7);
    const policy = linearPolicy(weights);
    expect(policy.ref).toEqual({ policyId: 'linear', version: 7 });
    for (const act of await policy.act(anActRequest({ n: 50, temperature: 0.7 }), never)) {
      const [chosen] = act.tokens?.ids ?? [];
      expect(act.response).toBe(`Thought: I weigh 6 possible actions.\nAction: ${candidates[chosen ?? -1]}`);
      expect(act.tokens?.logProbs).toEqual([candidateLogProbs(weights, request, candidates, 0.7)[chosen ?? -1]]);
    }
  });

  test('equal seeds yield equal acts, and other seeds others', async () => {
    const draw = (seed: number) => linearPolicy(drawnWeights(3)).act(anActRequest({ n: 20, seed }), never);
    expect(await draw(5)).toEqual(await draw(5));
    expect(await draw(5)).not.toEqual(await draw(6));
  });

  test('a temperature of the policy overrides that of the request', async () => {
    const [act] = await linearPolicy(drawnWeights(3), { temperature: 0, policyId: 'greedy' }).act(
      anActRequest({ temperature: 9 }),
      never,
    );
    expect(act?.tokens?.logProbs).toEqual([-0]);
  });

  test('a state without candidates is refused', async () => {
    await expect(linearPolicy(zeroWeights()).act(anActRequest({ admissibleActions: null }), never)).rejects.toMatchObject({
      code: 'no-candidates',
    });
  });
});

describe('gradient of the log-probability', () => {
  test('the gradient equals finite differences in every weight that it names, and is zero elsewhere', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.nat(candidates.length - 1),
        fc.double({ min: 0.3, max: 3, noNaN: true }),
        (seed, chosen, temperature) => {
          const weights = drawnWeights(seed);
          const { logProb, gradient } = gradientLogProb(weights, request, candidates, chosen, temperature);
          expect(logProb).toBe(candidateLogProbs(weights, request, candidates, temperature)[chosen]);
          expect([...gradient.indices]).toEqual([...new Set(gradient.indices)].sort((a, b) => a - b));
          const random = createRandom(seed).fork('index');
          const named = Array.from({ length: 20 }, () => random.choice([...gradient.indices]));
          for (const index of [...named, random.int(FEATURE_BUCKETS)]) {
            const at = (value: number): number => {
              const moved = weights.values.slice();
              moved[index] = (moved[index] ?? 0) + value;
              return candidateLogProbs({ version: 1, values: moved }, request, candidates, temperature)[chosen] ?? Number.NaN;
            };
            const slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            const position = gradient.indices.indexOf(index);
            expect(Math.abs(slope - (position < 0 ? 0 : (gradient.values[position] ?? Number.NaN)))).toBeLessThan(1e-6);
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  test('the gradient is undefined at temperature 0 and for a candidate that does not exist', () => {
    expect(() => gradientLogProb(zeroWeights(), request, candidates, 0, 0)).toThrow(RangeError);
    expect(() => gradientLogProb(zeroWeights(), request, candidates, 6, 1)).toThrow(RangeError);
  });

  test('cloning the right action of one task raises its probability there, and on a task with other names', () => {
    const weights = { version: 1, values: zeroWeights().values };
    const right = candidates.indexOf('get 1 oak logs');
    for (let i = 0; i < 200; i++)
      addScaled(weights.values, gradientLogProb(weights, request, candidates, right, 1).gradient, 0.1);
    expect(probabilities(weights)[right]).toBeGreaterThan(0.95);

    const other = anActRequest({
      goal: 'glass pane',
      firstObservation:
        'Crafting commands:\ncraft 16 glass pane using 6 glass\ncraft 1 bread using 3 wheat\n\nGoal: craft glass pane.',
      admissibleActions: ['get 3 wheat', 'get 6 glass', 'craft 16 glass pane using 6 glass', 'inventory'],
    });
    const [wheat, glass] = candidateLogProbs(weights, other, other.admissibleActions ?? [], 1);
    expect(glass).toBeGreaterThan((wheat ?? 0) + 0.5);
  });
});

describe('demand read from recipes', () => {
  test('the demand follows recipes down to raw materials, through groups and counts', () => {
    const { missing } = demandOf(request);
    expect([...missing]).toEqual([
      ['stick', { count: 1, hop: 0 }],
      ['planks', { count: 2, hop: 1 }],
      ['oak logs', { count: 1, hop: 2 }],
    ]);
  });

  test('a held item is no longer missing, and crafting consumes it', () => {
    const history = [
      { action: 'get 2 oak logs', observation: 'Got 2 oak logs' },
      { action: 'craft 4 oak planks using 1 oak logs', observation: 'Crafted 4 minecraft:oak_planks' },
    ];
    const { missing, held } = demandOf({ ...request, history });
    expect([...missing.keys()]).toEqual(['stick']);
    expect([...held]).toEqual([
      ['oak logs', 1],
      ['oak planks', 4],
    ]);
  });

  test('texts without recipes demand nothing, and the demand of a recipe that needs itself ends', () => {
    expect(demandOf({ goal: 'find the key', firstObservation: 'A room.', history: [] }).missing.size).toBe(0);
    const loop = { goal: 'a', firstObservation: 'craft 1 a using 1 b\ncraft 1 b using 1 a', history: [] };
    expect([...demandOf(loop).missing.keys()]).toEqual(['a', 'b']);
  });
});

describe('weights as bytes', () => {
  test('weights are read back unchanged, version included', () => {
    const weights = drawnWeights(9, 12);
    const back = decodeWeights(encodeWeights(weights));
    expect(back).toEqual(weights);
    expect(weightsDigest(back)).toBe(weightsDigest(weights));
  });

  test('weights have one digest on every machine, and another for another version', () => {
    expect(weightsDigest(zeroWeights())).toBe('415880dd68c1ed60e1a116aaf3b8477d79855b4dba7e8b2263528a858c4d1709');
    expect(weightsDigest({ ...zeroWeights(), version: 1 })).not.toBe(weightsDigest(zeroWeights()));
  });

  test('weights of another file or other features, truncated or not finite, are refused', () => {
    const good = encodeWeights(zeroWeights());
    const broken = (at: number, ...bytes: number[]): Uint8Array => {
      const copy = good.slice();
      copy.set(bytes, at);
      return copy;
    };
    expect(() => decodeWeights(new Uint8Array(3))).toThrow('no linear weights');
    expect(() => decodeWeights(broken(0, 1))).toThrow('no linear weights');
    expect(() => decodeWeights(broken(4, 9))).toThrow('format 9');
    expect(() => decodeWeights(broken(6, 99))).toThrow('feature revision 99');
    expect(() => decodeWeights(good.slice(0, -1))).toThrow('need 131088 bytes, got 131087');
    expect(() => decodeWeights(broken(16, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f))).toThrow('weight 0 is Infinity');
  });
});
