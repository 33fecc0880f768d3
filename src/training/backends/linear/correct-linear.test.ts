import { describe, expect, test } from '@jest/globals';
import { candidateFeatures } from '../../../policies/linear/features.ts';
import { scoreOf } from '../../../policies/linear/softmax.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import type { StepRow } from '../step-row.ts';
import { type TrainingSettings, trainingSettings } from '../training-settings.ts';
import { linearBackend } from './linear-backend.ts';
import { decodeCheckpoint } from './linear-checkpoint.ts';

const backend = linearBackend();
const never = new AbortController().signal;
const CANDIDATES = ['look', 'get planks', 'craft stick', 'inventory'];
const UNIFORM = Math.log(1 / CANDIDATES.length); // of the first weights

/** A group of two rollouts of one step each. @param recorded the log-probs that the engine drew them with. */
function rowsOf(recorded: readonly [number | null, number | null], rewards = [1, 0]): readonly StepRow[] {
  return recorded.map(
    (logProb, chosen): StepRow => ({
      groupId: 'g',
      rolloutId: `r${chosen}`,
      step: 0,
      temperature: 1,
      version: 0,
      candidates: CANDIDATES,
      stateHash: null,
      situation: { goal: 'craft stick', firstObservation: 'Goal: craft stick.', history: [] },
      tokens: { ids: [chosen], logProbs: logProb === null ? null : [logProb] },
      reward: rewards[chosen] ?? 0,
      action: CANDIDATES[chosen] ?? '',
      observation: 'seen',
      end: 'terminated',
    }),
  );
}

function settingsOf(more: Readonly<Record<string, unknown>> = {}): TrainingSettings {
  return trainingSettings.parse({
    objective: { kind: 'policy-gradient', estimator: { name: 'grpo', options: {} }, loss: { name: 'dual_clip', options: {} } },
    optimiser: 'sgd',
    learningRate: 0.01,
    clipNorm: 1_000,
    epochs: 1,
    miniBatch: 10,
    ...more,
  });
}

async function updateOf(rows: readonly StepRow[], settings: TrainingSettings, checkpoint?: Uint8Array, version = 9) {
  const first = await backend.initial(1);
  const reference = backend.weightsOf(first);
  return backend.update({ checkpoint: checkpoint ?? first, reference, rows, settings, version, seed: 1 }, never);
}

/** How far an update moved the score of each candidate. */
async function movesOf(rows: readonly StepRow[], settings: TrainingSettings): Promise<readonly number[]> {
  const updated = await updateOf(rows, settings);
  if (updated.kind === 'refused') throw new Error(updated.reason);
  const { values } = decodeWeights(backend.weightsOf(updated.checkpoint));
  const [row] = rows;
  return candidateFeatures(row?.situation as StepRow['situation'], CANDIDATES).map((vector) => scoreOf(values, vector));
}

describe('the correction of rollouts in the linear backend', () => {
  test('tokens that were drawn as the trainer computes them are trained as without a correction', async () => {
    const rows = rowsOf([UNIFORM, UNIFORM]);
    const weighed = await movesOf(rows, settingsOf({ correction: { weights: { level: 'token' } } }));
    expect(weighed).toEqual(await movesOf(rows, settingsOf()));
  });

  test('weights scale what a step moves by how much less likely the engine drew it, up to the threshold', async () => {
    const free = await movesOf(rowsOf([UNIFORM, UNIFORM]), settingsOf());
    const weights = (threshold: number) => settingsOf({ correction: { weights: { level: 'token', threshold } } });
    const rows = rowsOf([UNIFORM - Math.log(3), UNIFORM - Math.log(3)]); // the trainer finds both three times as likely
    const [whole, cut] = [await movesOf(rows, weights(10)), await movesOf(rows, weights(2))];
    for (const [i, move] of free.entries()) {
      expect(whole[i]).toBeCloseTo(3 * move, 9);
      expect(cut[i]).toBeCloseTo(2 * move, 9);
    }
  });

  test('a rejected step moves nothing while its group keeps its mean', async () => {
    const rows = rowsOf([UNIFORM, UNIFORM - Math.log(3)]);
    const kept = await movesOf(rows, settingsOf({ correction: { rejection: { rules: 'token_k1', bounds: '0.5_2' } } }));
    const [first] = rows;
    // alone in its group the first would keep its raw reward; with its group its advantage is what it was
    const alone = await movesOf([first as StepRow], settingsOf({ objective: withLoss('gpg') }));
    const free = await movesOf(rows, settingsOf());
    expect(kept[0]).toBeGreaterThan(0);
    expect(kept[0]).not.toBeCloseTo(alone[0] ?? 0, 6);
    expect(Math.sign(kept[1] ?? 0)).toBe(-Math.sign(kept[0] ?? 0));
    expect(kept).not.toEqual(free);
  });

  test('a step without a recorded log-prob, and a batch that is rejected whole, are refused with the remedy', async () => {
    const correction = { weights: { level: 'token' } };
    expect(await updateOf(rowsOf([UNIFORM, null]), settingsOf({ correction }))).toEqual({
      kind: 'refused',
      reason: expect.stringMatching(/^step 0 of rollout r1 has no recorded log-prob.*train without a correction$/),
    });
    const rejection = { rules: 'token_k1', bounds: '1.5' };
    const rows = rowsOf([UNIFORM - 3, UNIFORM + 3]);
    expect(await updateOf(rows, settingsOf({ correction: { rejection } }))).toMatchObject({
      reason: expect.stringContaining('widen'),
    });
  });
});

describe('the sampler measured against the linear trainer', () => {
  const far = rowsOf([UNIFORM - 2, UNIFORM + 2]); // by version 0

  test('every update says how far it is, with a correction and without', async () => {
    for (const settings of [settingsOf(), settingsOf({ correction: { weights: { level: 'token' } } })]) {
      const updated = await updateOf(far, settings);
      const k3 = (Math.exp(2) - 3 + Math.exp(-2) + 1) / 2;
      expect(updated).toMatchObject({ metrics: { rolloutK1: expect.closeTo(0, 9), rolloutK3: expect.closeTo(k3, 9) } });
      expect(updated).toMatchObject({ metrics: { rolloutMaxRatio: expect.closeTo(Math.exp(2), 9) } });
    }
  });

  test('a batch of the trained version that is too far off is refused by default, one of an older version never', async () => {
    const refusal = { kind: 'refused', reason: expect.stringMatching(/mean k3 of 2\.76, more than 0\.5 .*mismatch\.stop/) };
    expect(await updateOf(far, settingsOf(), undefined, 0)).toEqual(refusal);
    expect(await updateOf(far, settingsOf(), undefined, 1)).toMatchObject({ kind: 'updated' });
    const free = settingsOf({ mismatch: { stop: null } });
    expect(await updateOf(far, free, undefined, 0)).toMatchObject({ kind: 'updated' });
    expect(free.mismatch).toEqual({ warn: 0.05, stop: null });
  });
});

describe('KL in the reward in the linear backend', () => {
  const adaptive = { kind: 'adaptive', target: 1e-9, horizon: 10 };
  const settings = settingsOf({ kl: { kind: 'k1', coefficient: 0.5, in: 'reward', controller: adaptive }, learningRate: 1 });

  test('the coefficient of one update is where the next begins, and is kept in the checkpoint', async () => {
    const one = await updateOf(rowsOf([UNIFORM, UNIFORM]), settings);
    if (one.kind === 'refused') throw new Error(one.reason);
    expect(one.metrics).toMatchObject({ klCoefficient: 0.5, rewardKl: 0 });
    const left = decodeCheckpoint(one.checkpoint).klCoefficient;
    expect(left).toBeCloseTo(0.5 * (1 - (0.2 * 2) / 10), 12); // no KL yet: below the target
    const two = await updateOf(rowsOf([UNIFORM, UNIFORM]), settings, one.checkpoint);
    if (two.kind === 'refused') throw new Error(two.reason);
    expect(two.metrics.klCoefficient).toBe(left);
    expect(two.metrics.rewardKl).not.toBe(0);
  });

  test('what left the first weights earns less: the penalty turns an advantage round', async () => {
    const away = await updateOf(rowsOf([UNIFORM, UNIFORM]), settingsOf({ learningRate: 3 }));
    if (away.kind === 'refused') throw new Error(away.reason);
    const kl = { kind: 'k1', coefficient: 100, in: 'reward' };
    const scoreAfter = async (more: Readonly<Record<string, unknown>>) => {
      const updated = await updateOf(rowsOf([UNIFORM, UNIFORM]), settingsOf({ learningRate: 0.01, ...more }), away.checkpoint);
      if (updated.kind === 'refused') throw new Error(updated.reason);
      const { values } = decodeWeights(backend.weightsOf(updated.checkpoint));
      const [row] = rowsOf([0, 0]);
      const [vector] = candidateFeatures(row?.situation as StepRow['situation'], CANDIDATES);
      return vector ? scoreOf(values, vector) : Number.NaN;
    };
    expect(await scoreAfter({ kl })).toBeLessThan(await scoreAfter({}));
  });
});

function withLoss(name: string): unknown {
  return { kind: 'policy-gradient', estimator: { name: 'grpo', options: {} }, loss: { name, options: {} } };
}
