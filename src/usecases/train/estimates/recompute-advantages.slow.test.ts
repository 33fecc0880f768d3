import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRandom } from '../../../domain/random/random.ts';
import { configureEstimator, ESTIMATORS } from '../../../domain/training/advantages/estimators.ts';
import type { Method } from '../../../events/schemas/training.ts';
import { linearBackend } from '../../../training/backends/linear/linear-backend.ts';
import type { StepRow } from '../../../training/backends/step-row.ts';
import { LINEAR_SETTINGS } from '../../../training/backends/training-settings.ts';
import { recomputeAdvantages } from './recompute-advantages.ts';

const backend = linearBackend();
const never = new AbortController().signal;

/** Three groups of four rollouts of some steps each, rewards and choices by a seed. */
function rowsOf(seed: number, steps: number): readonly StepRow[] {
  const random = createRandom(seed);
  const rows = Array.from({ length: 12 * steps }, (_, i): StepRow => {
    const [rollout, step] = [Math.floor(i / steps), i % steps];
    const candidates = ['look', 'get planks', 'craft stick'];
    const chosen = random.fork(2 * i).int(3);
    return {
      groupId: `group-${rollout % 3}`,
      rolloutId: `rollout-${rollout}`,
      step,
      candidates,
      temperature: 1,
      version: 0,
      situation: {
        goal: 'craft stick',
        firstObservation: 'Goal: craft stick.',
        history: Array(step).fill({ action: 'look', observation: 'planks' }),
      },
      tokens: { ids: [chosen], logProbs: null },
      reward: step === steps - 1 ? random.fork(2 * i + 1).int(5) / 4 : 0,
      stateHash: `state-${step}`,
      action: candidates[chosen] ?? '',
      observation: 'seen',
      end: step < steps - 1 ? 'none' : rollout % 2 === 0 ? 'terminated' : 'truncated',
    };
  });
  return random.fork(1_000).shuffle(rows);
}

function methodOf(name: string): Method {
  const configured = configureEstimator(name, name === 'gae' ? { variant: 'step', lambda: 0.9 } : {});
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const { revision, mode } = configured.estimator;
  return { name, revision, mode };
}

/** A checkpoint whose critic and policy have learned something: values and log-probs differ from step to step. */
async function learned(): Promise<Uint8Array> {
  const input = {
    checkpoint: await backend.initial(1),
    reference: null,
    rows: rowsOf(99, 3),
    settings: LINEAR_SETTINGS.ppo,
    version: 9,
    seed: 1,
  };
  const updated = await backend.update(input, never);
  if (updated.kind === 'refused') throw new Error(updated.reason);
  return updated.checkpoint;
}

describe.each(Object.keys(ESTIMATORS))('%s', (name) => {
  test('the advantages equal those that the update measured, to the last bit, or are refused as the update was', async () => {
    const checkpoint = await learned();
    const method = methodOf(name);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.constantFrom(1, 3), async (seed, steps) => {
        const rows = rowsOf(seed, steps);
        const again = await recomputeAdvantages({ rows, method, backend: 'linear', readBase: async () => checkpoint });
        const estimator = { name, options: method.mode as Record<string, string | number> }; // what `configureEstimator` chose
        const objective = { kind: 'policy-gradient' as const, estimator, loss: { name: 'dual_clip', options: {} } };
        const updated = await backend.update(
          { checkpoint, reference: null, rows, settings: { ...LINEAR_SETTINGS.grpo, objective, epochs: 1 }, version: 9, seed: 1 },
          never,
        );
        if (again.kind === 'refused' || updated.kind === 'refused') {
          expect(again).toEqual(updated);
          return;
        }
        expect(again.spread.advantageMean).toBe(updated.metrics.advantageMean);
        expect(again.spread.advantageDeviation).toBe(updated.metrics.advantageDeviation);
        expect(again.ofRow.size).toBe(rows.length);
      }),
      { numRuns: 6 },
    );
  });
});

describe('batches without reproducible advantages', () => {
  const grpo = methodOf('grpo');
  const asked = { rows: rowsOf(1, 2), method: grpo, backend: 'linear', readBase: () => Promise.reject(new Error('not needed')) };
  const reasonOf = async (part: Partial<Parameters<typeof recomputeAdvantages>[0]>) => {
    const answer = await recomputeAdvantages({ ...asked, ...part });
    return answer.kind === 'refused' ? answer.reason : answer.kind;
  };

  test('the refusal names its cause: another revision, an unknown name, a model that only its trainer has, or unrecorded tokens', async () => {
    expect(await reasonOf({ method: { ...grpo, revision: '0' } })).toContain(
      'revision 0 of grpo, and this program has revision 1',
    );
    expect(await reasonOf({ method: { ...grpo, name: 'nonsense' } })).toContain('there is no estimator nonsense');
    expect(await reasonOf({ method: methodOf('gae'), backend: 'torch' })).toContain('only its trainer has that model');
    expect(await reasonOf({ backend: 'torch', rows: asked.rows.map((row) => ({ ...row, tokens: null })) })).toContain(
      'no sampled tokens',
    );
  });

  test('no checkpoint is read where the estimator needs no weights', async () => {
    expect(await reasonOf({})).toBe('recomputed');
    await expect(recomputeAdvantages({ ...asked, method: methodOf('gae') })).rejects.toThrow('not needed');
  });

  test('rows of an undescribed policy count by tokens where they have several, else by steps', async () => {
    const grainOf = async (part: Partial<Parameters<typeof recomputeAdvantages>[0]>) => {
      const answer = await recomputeAdvantages({ ...asked, ...part });
      return answer.kind === 'recomputed' ? answer.grain : answer.reason;
    };
    expect(await grainOf({ backend: null })).toBe('step');
    const written = asked.rows.map((row) => ({ ...row, tokens: { ids: [1, 2], logProbs: null } }));
    expect(await grainOf({ backend: null, rows: written })).toBe('token');
  });
});
