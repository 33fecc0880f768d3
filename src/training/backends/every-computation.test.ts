import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../testing/python.ts';
import type { Backend } from './backend.ts';
import { EVERY_COMPUTATION } from './every-computation-testing.ts';
import { linearBackend } from './linear/linear-backend.ts';
import type { StepRow } from './step-row.ts';
import { openTorchBackend } from './torch/torch-backend.ts';
import type { TrainingSettings } from './training-settings.ts';

const { signal } = new AbortController();
const CANDIDATES = ['look', 'get planks', 'craft stick'];

/** Two groups of two rollouts of one step each: every estimator takes them. The two of a group differ in what they earned. */
function rowsOf(tokens: (chosen: number) => NonNullable<StepRow['tokens']>): readonly StepRow[] {
  return Array.from({ length: 4 }, (_, i): StepRow => {
    const [group, chosen] = [i >> 1, i % 2];
    const [outcome, tool] = [chosen === group ? 1 : 0, 0.1 + 0.1 * chosen];
    const response = `${'ab'[chosen]}!c`;
    return {
      ...{ groupId: `group-${group}`, rolloutId: `rollout-${i}`, step: 0, temperature: 1, version: 0, candidates: CANDIDATES },
      situation: { goal: 'craft stick', firstObservation: `Goal: craft stick ${group}.`, history: [] },
      chat: { messages: [{ role: 'user', content: `${group}` }], response },
      tokens: tokens(chosen),
      reward: outcome + tool,
      parts: [
        { component: 'environment', value: outcome, weight: 1, of: 'step' },
        { component: 'tool', value: tool, weight: 1, of: 'step' },
      ],
      greedyScore: 0.25,
      ...{
        stateHash: `state-${group}`,
        action: CANDIDATES[chosen] ?? '',
        observation: 'seen',
        end: i === 3 ? 'truncated' : 'terminated',
      },
    };
  });
}

async function train(backend: Backend, first: Uint8Array, rows: readonly StepRow[], settings: TrainingSettings) {
  const updated = await backend.update(
    { checkpoint: first, reference: backend.weightsOf(first), rows, settings, seed: 3 },
    signal,
  );
  if (updated.kind === 'refused') throw new Error(updated.reason);
  return updated;
}

function expectTrained(settings: TrainingSettings, first: Uint8Array, updated: Awaited<ReturnType<typeof train>>): void {
  const { objective } = settings;
  expect(Buffer.from(updated.checkpoint).equals(Buffer.from(first))).toBe(false);
  expect(Object.entries(updated.metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
  if (objective.kind !== 'policy-gradient') return;
  expect(updated.estimator).toMatchObject({ name: objective.estimator.name, mode: objective.estimator.options });
  expect(updated.loss).toMatchObject({ name: objective.loss.name, mode: objective.loss.options });
  expect('rewardKl' in updated.metrics).toBe(settings.kl?.in === 'reward');
  expect('rolloutK1' in updated.metrics).toBe(settings.correction !== undefined);
}

describe('every computation that a declaration can name, by the linear backend', () => {
  const backend = linearBackend();
  const rows = rowsOf((chosen) => ({ ids: [chosen], logProbs: [-1.2] }));

  test.each(EVERY_COMPUTATION)('%s makes a version', async (_, settings) => {
    const first = await backend.initial(1);
    expectTrained(settings, first, await train(backend, first, rows, settings));
  });
});

const found = await pythonForTests();
(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found'
    ? `every computation that a declaration can name, by the torch backend (torch ${found.torch})`
    : `every computation that a declaration can name, by the torch backend: skipped, ${found.reason}`,
  () => {
    let folder: string;
    let backend: Backend;
    let first: Uint8Array;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-every-'));
      const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 32 } as const;
      const python = found.kind === 'found' ? found.python : '';
      backend = await openTorchBackend({ python, model, folder, critic: true, device: 'cpu' }, signal);
      first = await backend.initial(5);
    }, 200_000);
    afterAll(async () => {
      await backend?.close();
      await rm(folder, { recursive: true, force: true });
    });
    const rows = rowsOf((chosen) => ({ ids: [97 + chosen, 33, 99], logProbs: [-5.5, -5.4, -5.6] }));

    test.each(EVERY_COMPUTATION)(
      '%s makes a version',
      async (_, settings) => {
        const updated = await train(backend, first, rows, settings);
        expectTrained(settings, first, updated);
        expect(updated.metrics.tokens).toBe(settings.objective.kind === 'behaviour-cloning' ? 6 : 12);
      },
      60_000,
    );
  },
);
