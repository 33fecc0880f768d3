import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRandom } from '../../../domain/random/random.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import { candidateLogProbs } from '../../../policies/linear-policy.ts';
import { anActRequest } from '../../../testing/act-request.ts';
import type { Updated, UpdateInput } from '../backend.ts';
import type { StepRow } from '../step-row.ts';
import { LINEAR_SETTINGS, type TrainingSettings } from '../training-settings.ts';
import { linearBackend } from './linear-backend.ts';

const backend = linearBackend();
const request = anActRequest();
const candidates = request.admissibleActions ?? [];
const never = new AbortController().signal;
const KINDS = ['grpo', 'ppo', 'reinforce++'] as const;

/** Four groups of four rollouts of two steps; the second candidate is what pays. */
function rowsOf(changes: Partial<StepRow> = {}): readonly StepRow[] {
  return Array.from({ length: 32 }, (_, i): StepRow => {
    const [group, rollout, step] = [i >> 3, i >> 1, i % 2];
    const chosen = rollout % 4 < 2 ? 1 : 2 + (rollout % 3);
    const history = step === 0 ? [] : [{ action: 'inventory', observation: 'Inventory: empty' }];
    return {
      groupId: `group-${group}`,
      rolloutId: `rollout-${rollout}`,
      step,
      candidates,
      temperature: 1,
      stateHash: null,
      version: 0,
      situation: { goal: request.goal, firstObservation: request.firstObservation, history },
      tokens: { ids: [chosen], logProbs: null },
      reward: step === 1 && chosen === 1 ? 1 : 0,
      action: candidates[chosen] ?? '',
      observation: 'seen',
      end: step === 1 ? 'terminated' : 'none',
      ...changes,
    };
  });
}

async function updateOf(part: Partial<UpdateInput> = {}): Promise<Updated> {
  const checkpoint = await backend.initial(1);
  const input = { checkpoint, reference: null, rows: rowsOf(), settings: LINEAR_SETTINGS.grpo, version: 9, seed: 7, ...part };
  const updated = await backend.update(input, never);
  if (updated.kind === 'refused') throw new Error(updated.reason);
  return updated;
}
const probabilityOf = (checkpoint: Uint8Array, chosen: number) =>
  Math.exp(candidateLogProbs(decodeWeights(backend.weightsOf(checkpoint)), request, candidates, 1)[chosen] ?? Number.NaN);

describe.each(KINDS)('%s', (kind) => {
  const settings = LINEAR_SETTINGS[kind];

  test('an update makes rewarded actions more probable and yields the next version', async () => {
    const { checkpoint, estimator, metrics } = await updateOf({ settings });
    expect(probabilityOf(checkpoint, 1)).toBeGreaterThan(1.5 / candidates.length);
    expect(decodeWeights(backend.weightsOf(checkpoint)).version).toBe(1);
    expect(estimator.name).toBe(settings.objective.estimator.name);
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
    expect(metrics.skippedSteps).toBe(0);
  });

  test('an update yields the same bytes for any order of its rows, and others for another seed', async () => {
    const small = { ...settings, miniBatch: 4 };
    const first = await updateOf({ settings: small });
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const again = await updateOf({ settings: small, rows: createRandom(seed).shuffle(rowsOf()) });
        expect(Buffer.from(again.checkpoint).equals(Buffer.from(first.checkpoint))).toBe(true);
        expect(again.weights).toBe(first.weights);
      }),
      { numRuns: 3 },
    );
    expect((await updateOf({ settings: small, seed: 8 })).weights).not.toBe(first.weights);
  });

  test('an update from a checkpoint equals one without interruption, since optimiser and critic are included', async () => {
    const first = await updateOf({ settings });
    const held = await updateOf({ settings, checkpoint: first.checkpoint });
    const read = await updateOf({ settings, checkpoint: Uint8Array.from(first.checkpoint) });
    expect(read.weights).toBe(held.weights);
    const withoutOptimiser = await updateOf({ settings, checkpoint: forgetMoments(first.checkpoint) });
    expect(withoutOptimiser.weights).not.toBe(held.weights);
  });
});

/** Writes zeros over everything behind the weights. */
function forgetMoments(checkpoint: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(checkpoint);
  copy.fill(0, 24 + backend.weightsOf(checkpoint).length);
  return copy;
}

describe('updates', () => {
  test('a KL penalty keeps the policy close to the reference', async () => {
    const first = await updateOf({ settings: { ...LINEAR_SETTINGS.grpo, learningRate: 0.03 } });
    const reference = backend.weightsOf(await backend.initial(1));
    const settings = {
      ...LINEAR_SETTINGS.grpo,
      clipNorm: 100,
      optimiser: 'sgd' as const,
      learningRate: 0.01,
      epochs: 1,
      miniBatch: 1_000,
    };
    const free = await updateOf({ checkpoint: first.checkpoint, settings });
    const kl = { kind: 'k3' as const, coefficient: 50 };
    const held = await updateOf({ checkpoint: first.checkpoint, settings: { ...settings, kl }, reference });
    expect(probabilityOf(held.checkpoint, 1)).toBeLessThan(probabilityOf(free.checkpoint, 1));
    expect(held.metrics.klLoss).toBeGreaterThan(0);
  });

  test('an entropy bonus keeps the policy broader', async () => {
    const broad = await updateOf({ settings: { ...LINEAR_SETTINGS.grpo, entropyCoefficient: 5, epochs: 4 } });
    const narrow = await updateOf({ settings: { ...LINEAR_SETTINGS.grpo, epochs: 4 } });
    expect(probabilityOf(broad.checkpoint, 1)).toBeLessThan(probabilityOf(narrow.checkpoint, 1));
  });

  test('an update refuses a non-finite reward, a step without a choice, an unknown estimator and an unknown option', async () => {
    const reasonOf = async (part: Partial<UpdateInput>) => {
      const input = {
        checkpoint: await backend.initial(1),
        reference: null,
        rows: rowsOf(),
        settings: LINEAR_SETTINGS.grpo,
        version: 9,
        seed: 1,
        ...part,
      };
      const answer = await backend.update(input, never);
      return answer.kind === 'refused' ? answer.reason : answer.kind;
    };
    const withEstimator = (name: string, options: Record<string, string | number>): TrainingSettings => ({
      ...LINEAR_SETTINGS.grpo,
      objective: { kind: 'policy-gradient', estimator: { name, options }, loss: { name: 'dual_clip', options: {} } },
    });
    expect(await reasonOf({ rows: rowsOf({ reward: Number.NaN }) })).toContain('a reward that is not finite');
    expect(await reasonOf({ rows: rowsOf({ candidates: null }) })).toContain('no choice among candidates');
    expect(await reasonOf({ rows: [] })).toContain('no step');
    expect(await reasonOf({ settings: withEstimator('nonsense', {}) })).toContain('there is no estimator nonsense');
    expect(await reasonOf({ settings: withEstimator('grpo', { twist: 1 }) })).toContain('there is no option twist');
  });

  test('an update skips a step with a non-finite gradient, reports it, and keeps the weights finite', async () => {
    const { checkpoint, metrics } = await updateOf({ rows: rowsOf({ temperature: 1e-320 }) });
    expect(metrics.skippedSteps).toBeGreaterThan(0);
    expect(decodeWeights(backend.weightsOf(checkpoint)).values.every(Number.isFinite)).toBe(true);
  });
});

describe('damaged checkpoints', () => {
  test.each([
    ['cut', (bytes: Uint8Array) => bytes.subarray(0, -1), 'it is cut'],
    ['of another kind', (bytes: Uint8Array) => bytes.map((byte, i) => (i === 0 ? 0 : byte)), 'no linear checkpoint'],
    ['of another format', (bytes: Uint8Array) => bytes.map((byte, i) => (i === 4 ? 9 : byte)), 'format 9'],
    ['not finite', (bytes: Uint8Array) => bytes.map((byte, i) => (i >= bytes.length - 8 ? 0xff : byte)), 'NaN'],
    ['damaged in its weights', (bytes: Uint8Array) => bytes.map((byte, i) => (i === 24 ? 0 : byte)), 'ESPW'],
  ])('a checkpoint that is %s is refused with the reason', async (_, damage, message) => {
    const checkpoint = damage(Uint8Array.from(await backend.initial(1)));
    await expect(updateOf({ checkpoint })).rejects.toMatchObject({
      name: 'CheckpointDamaged',
      message: expect.stringContaining(message),
    });
  });
});
