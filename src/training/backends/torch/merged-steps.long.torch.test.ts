import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../../testing/python.ts';
import { readSafetensors } from '../../rows/safetensors.ts';
import type { Backend, Updated } from '../backend.ts';
import type { StepRow } from '../step-row.ts';
import { trainingSettings } from '../training-settings.ts';
import { openTorchBackend } from './torch-backend.ts';
import { checkpointFolder, decodeTorchCheckpoint } from './torch-checkpoint.ts';
import type { TorchOptions } from './torch-plan.ts';

const found = await pythonForTests();
const { signal } = new AbortController();

/** Three steps of a rollout, each prompt the one before with its reply and an observation; the last one drifts where asked. */
function rollout(group: string, name: string, reward: number, drifts = false): readonly StepRow[] {
  let prompt: readonly number[] = [65, 66, group.charCodeAt(0)];
  return [0, 1, 2].map((step) => {
    const ids = [97 + step, 98 + reward, 100];
    const row: StepRow = {
      groupId: group,
      rolloutId: name,
      step,
      reward: step === 2 ? reward : 0.1 * step,
      temperature: 1,
      version: 0,
      end: step === 2 ? 'terminated' : 'none',
      candidates: null,
      stateHash: null,
      action: '',
      observation: '',
      situation: { goal: '', firstObservation: group, history: [] },
      chat: { messages: [{ role: 'user', content: group }], reply: { role: 'assistant', content: '' }, promptIds: prompt },
      tokens: { ids, logProbs: ids.map((_, t) => -5 - t / 4) },
    };
    prompt = [...(drifts && step === 1 ? [1] : []), ...prompt, ...ids, 10, 48 + step];
    return row;
  });
}
const ROWS = [...rollout('a', 'r1', 1), ...rollout('a', 'r2', 0), ...rollout('b', 'r3', 1, true), ...rollout('b', 'r4', 0)];

const settingsOf = (estimator: string, loss: string, more: Record<string, unknown> = {}) =>
  trainingSettings.parse({
    objective: { kind: 'policy-gradient', estimator: { name: estimator, options: {} }, loss: { name: loss, options: {} } },
    learningRate: 0.01,
    miniBatch: 2,
    entropyCoefficient: 0.01,
    kl: { kind: 'k3', coefficient: 0.1 },
    ...more,
  });

const distance = (a: readonly number[], b: readonly number[]) => Math.hypot(...a.map((value, i) => value - (b[i] ?? Number.NaN)));

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `merged steps (torch ${found.torch})` : `merged steps: skipped, ${found.reason}`,
  () => {
    let folder: string;
    const backends: Backend[] = [];
    let first: Uint8Array;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-merged-'));
      const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 64 } as const;
      const options: TorchOptions = {
        python: found.kind === 'found' ? found.python : '',
        model,
        folder,
        critic: true,
        device: 'cpu',
      };
      for (const rows of ['merged', 'step'] as const) backends.push(await openTorchBackend({ ...options, rows }, signal));
      for (const backend of backends) first = await backend.initial(5);
    });
    afterAll(async () => {
      for (const backend of backends) await backend.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Trains on the same batch with merged steps and with a row per step. */
    async function bothWays(settings: ReturnType<typeof settingsOf>, rows = ROWS): Promise<readonly Updated[]> {
      const done: Updated[] = [];
      for (const backend of backends) {
        const updated = await backend.update(
          { checkpoint: first, reference: first, rows, settings, version: 9, seed: 3 },
          signal,
        );
        if (updated.kind === 'refused') throw new Error(updated.reason);
        done.push(updated);
      }
      return done;
    }

    async function weightsOf(checkpoint: Uint8Array): Promise<readonly number[]> {
      const path = join(checkpointFolder(folder, decodeTorchCheckpoint(checkpoint)), 'model.safetensors');
      return [...readSafetensors(await readFile(path)).tensors.values()].flatMap(({ data }) => [...data]);
    }

    test.each(['gae', 'grpo'])(
      'an update with %s by merged steps has the weights and losses of one by a row per step, and computes fewer tokens',
      async (estimator) => {
        const [merged, steps] = (await bothWays(settingsOf(estimator, 'dual_clip'))) as [Updated, Updated];
        const [from, ours, theirs] = [
          await weightsOf(first),
          await weightsOf(merged.checkpoint),
          await weightsOf(steps.checkpoint),
        ];
        // Adam divides by the size of a gradient: one of 1e-9 moves its weight by rounding alone, so the distances are compared.
        expect(distance(ours, theirs) / distance(from, theirs)).toBeLessThan(0.01);
        for (const [name, value] of Object.entries(steps.metrics))
          if (name !== 'sequenceTokens') expect(merged.metrics[name]).toBeCloseTo(value, 4);
        // Prompts of 3, 8 and 13 tokens with replies of 3: a sequence of 16; the drifting rollout is cut before its last step.
        expect([merged.metrics.sequenceTokens, steps.metrics.sequenceTokens]).toEqual([3 * 16 + 11 + 17, 3 * 33 + 34]);
      },
    );

    test.each([
      ['a loss of sequences', settingsOf('grpo', 'gspo')],
      ['a mean over rows', settingsOf('grpo', 'dual_clip', { aggregation: 'seq-mean-token-mean' })],
    ])('%s keeps a row per step', async (_, settings) => {
      const [merged, steps] = (await bothWays(settings)) as [Updated, Updated];
      expect(merged.metrics.sequenceTokens).toBe(steps.metrics.sequenceTokens);
      expect(Math.max(...(await weightsOf(merged.checkpoint)).map(Math.abs))).toBeGreaterThan(0);
    });

    test.each<[string, Partial<StepRow>, RegExp]>([
      [
        'a token id outside the vocabulary',
        { tokens: { ids: [70_000], logProbs: [-1] } },
        /step 0 of rollout r1: token 0 of its reply has the id 70000, outside the vocabulary of \d+/,
      ],
      ['a log-probability that is no number', { tokens: { ids: [97], logProbs: [Number.NaN] } }, /step 0 .* log-probability NaN/],
      ['a log-probability above 0', { tokens: { ids: [97], logProbs: [0.5] } }, /step 0 of rollout r1: token 0 .* 0.5/],
      ['fewer log-probabilities than ids', { tokens: { ids: [97, 98], logProbs: [-1] } }, /1 log-probabilities for 2 token ids/],
    ])('%s is refused with the step that has it, before anything is trained', async (_, part, message) => {
      const [head, ...rest] = ROWS as [StepRow, ...StepRow[]];
      await expect(bothWays(settingsOf('grpo', 'dual_clip'), [{ ...head, ...part }, ...rest])).rejects.toThrow(message);
    });
  },
);
