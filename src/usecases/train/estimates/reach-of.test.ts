import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import type { Method } from '../../../events/schemas/training.ts';
import { EVERY_COMPUTATION } from '../../../training/backends/every-computation-testing.ts';
import { encodeCheckpoint, initialCheckpoint } from '../../../training/backends/linear/linear-checkpoint.ts';
import type { StepRow } from '../../../training/backends/step-row.ts';
import type { TrainingSettings } from '../../../training/backends/training-settings.ts';
import { reachOf } from './estimate-batch.ts';
import { type RowEstimate, recomputeAdvantages } from './recompute-advantages.ts';

const CANDIDATES = ['look', 'get planks', 'craft stick'];
let compared = 0;
afterAll(() => expect(compared).toBeGreaterThan(0));

const BACKENDS = ['linear', 'torch', 'another', null] as const;

const someReward = fc.double({ min: -2, max: 2, noNaN: true });
/** A step, sampled as one token or as several. */
const someStep = fc.record({ tool: someReward, outcome: someReward, chosen: fc.nat(2), tokens: fc.integer({ min: 1, max: 3 }) });
const someGroups = fc.array(fc.array(fc.array(someStep, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 }), {
  minLength: 2,
  maxLength: 3,
});

/** Lays out groups of rollouts; in some batches every step has one token. */
const someRows = fc.record({ groups: someGroups, oneToken: fc.boolean() }).map(({ groups, oneToken }) =>
  groups.flatMap((rollouts, g) =>
    rollouts.flatMap((steps, r) =>
      steps.map(({ tool, outcome, chosen, tokens }, step): StepRow => {
        const ids = Array(oneToken ? 1 : tokens).fill(chosen);
        return {
          groupId: `group-${g}`,
          rolloutId: `rollout-${g}-${r}`,
          step,
          temperature: 1,
          version: 0,
          candidates: CANDIDATES,
          situation: { goal: 'craft stick', firstObservation: `Goal ${g}.`, history: [] },
          tokens: { ids, logProbs: ids.map(() => -1) },
          reward: outcome + tool,
          parts: [
            { component: 'environment', value: outcome, weight: 1, of: 'step' },
            { component: r === 0 ? 'compression' : 'tool', value: tool, weight: 1, of: 'step' },
          ],
          greedyScore: g + 0.1,
          stateHash: `state-${step}`,
          action: CANDIDATES[chosen] ?? '',
          observation: 'seen',
          end: step < steps.length - 1 ? 'none' : 'terminated',
        };
      }),
    ),
  ),
);

function methodOf({ objective }: TrainingSettings): Method {
  const configured = configureEstimator(objective.estimator.name, objective.estimator.options);
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const { name, revision, mode } = configured.estimator;
  return { name, revision, mode };
}

test.each(EVERY_COMPUTATION)(
  '%s: groups that are said to need no others have alone what they have in their batch, to the last bit',
  async (_, settings) => {
    const method = methodOf(settings);
    const readBase = async () => encodeCheckpoint(initialCheckpoint());
    await fc.assert(
      fc.asyncProperty(someRows, fc.constantFrom(...BACKENDS), async (rows, backend) => {
        const isKnown = backend === 'linear' || backend === 'torch';
        expect(reachOf({ method, backend, settings, metrics: null })).toBe('batch'); // nobody has taken it yet
        if (!isKnown) expect(reachOf({ method, backend, settings, metrics: {} })).toBe('batch');
        if (reachOf({ method, backend, settings, metrics: {} }) === 'batch') return;
        compared++;
        const asked = { method, backend, settings, readBase };
        const whole = await recomputeAdvantages({ ...asked, rows });
        for (const group of new Set(rows.map(({ groupId }) => groupId))) {
          const own = rows.filter(({ groupId }) => groupId === group);
          const alone = await recomputeAdvantages({ ...asked, rows: own });
          if (whole.kind === 'refused') expect(alone).toEqual(whole);
          else
            expect(alone.kind === 'recomputed' && own.map((row) => bitsOf(alone.ofRow.get(row)))).toEqual(
              own.map((row) => bitsOf(whole.ofRow.get(row))),
            );
        }
      }),
      { numRuns: 15 },
    );
  },
);

function bitsOf(estimate: RowEstimate | undefined): readonly unknown[] {
  const bits = ({ buffer, byteOffset, byteLength }: Float64Array) => Buffer.from(buffer, byteOffset, byteLength).toString('hex');
  return estimate ? [bits(estimate.advantages), bits(estimate.returns), estimate.value, estimate.bootstrap] : [];
}
