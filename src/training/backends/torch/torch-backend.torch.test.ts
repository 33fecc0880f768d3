import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findMismatch } from '../../../domain/training/correction/mismatch.ts';
import { PYTHON_PACKAGE } from '../../../runtime/python-server.ts';
import { pythonForTests } from '../../../testing/python.ts';
import type { Backend } from '../backend.ts';
import type { StepRow } from '../step-row.ts';
import { trainingSettings } from '../training-settings.ts';
import { openTorchBackend } from './torch-backend.ts';
import { checkpointFolder, decodeTorchCheckpoint } from './torch-checkpoint.ts';
import type { TorchOptions } from './torch-plan.ts';

const found = await pythonForTests();
const { signal } = new AbortController();
const run = promisify(execFile);

/** A choice of one byte after a prompt. @param reward decides the advantage within the group. */
function given(group: string, rollout: string, byte: number, reward: number, more: Partial<StepRow> = {}): StepRow {
  const reply = { role: 'assistant' as const, content: String.fromCharCode(byte) };
  const chat = { messages: [{ role: 'user' as const, content: group }], reply };
  return {
    groupId: group,
    rolloutId: rollout,
    step: 0,
    reward,
    temperature: 1,
    version: 0,
    end: 'terminated',
    situation: { goal: '', firstObservation: group, history: [] },
    candidates: null,
    stateHash: null,
    action: reply.content,
    observation: 'done',
    chat,
    tokens: { ids: [byte], logProbs: [-5.5] },
    ...more,
  };
}

const ROWS = [given('a', 'r1', 97, 1), given('a', 'r2', 98, 0), given('b', 'r3', 98, 1), given('b', 'r4', 97, 0)];
/** Reads each row by itself with the weights of a folder, at a temperature of one half. */
const FORWARD = `
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, chats = sys.argv[1], json.loads(sys.argv[2])
model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
found = []
with torch.no_grad():
    for messages, ids in chats:
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        logits = model(torch.tensor([prompt + ids])).logits[0]
        logs = torch.log_softmax(logits[len(prompt) - 1 : -1] / 0.5, -1)
        found.append([float(logs[t, id]) for t, id in enumerate(ids)])
print(json.dumps(found))
`;

const settingsOf = (estimator: string, more: Record<string, unknown> = {}) =>
  trainingSettings.parse({
    objective: {
      kind: 'policy-gradient',
      estimator: { name: estimator, options: {} },
      loss: { name: 'dual_clip', options: {} },
    },
    learningRate: 0.01,
    miniBatch: 2,
    ...more,
  });

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `the torch backend (torch ${found.torch})` : `the torch backend: skipped, ${found.reason}`,
  () => {
    let folder: string;
    let backend: Backend;
    let options: TorchOptions;
    let first: Uint8Array;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-torch-'));
      const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 32 } as const;
      options = { python: found.kind === 'found' ? found.python : '', model, folder, critic: true, device: 'cpu' };
      backend = await openTorchBackend(options, signal);
      first = await backend.initial(5);
    });
    afterAll(async () => {
      await backend?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const update = (rows: readonly StepRow[], settings = settingsOf('grpo'), checkpoint = first) =>
      backend.update({ checkpoint, reference: first, rows, settings, version: 9, seed: 3 }, signal);

    test('equal rows in any order yield equal checkpoints, also after the process was killed', async () => {
      const once = await update(ROWS);
      const again = await update([...ROWS].reverse());
      expect(again).toEqual(once);
      if (once.kind !== 'updated') throw new Error(once.reason);
      const stopped = new AbortController();
      const cut = backend.update(
        { checkpoint: first, reference: null, rows: ROWS, settings: settingsOf('grpo'), version: 9, seed: 3 },
        stopped.signal,
      );
      stopped.abort(new Error('not wanted'));
      await expect(cut).rejects.toThrow('not wanted');
      expect(await update(ROWS)).toEqual(once);
      expect(once.weights).toBe(createHash('sha256').update(backend.weightsOf(once.checkpoint)).digest('hex'));
      expect(once.estimator).toMatchObject({ name: 'grpo' });
      expect(once.metrics).toMatchObject({ steps: 4, skippedSteps: 0, tokens: 4 });
      const kept = checkpointFolder(folder, decodeTorchCheckpoint(once.checkpoint));
      expect(await readdir(kept)).toEqual(
        expect.arrayContaining(['config.json', 'model.safetensors', 'state.json', 'trainer.safetensors']),
      );
    });

    test('the sampler is measured against the trainer in every update: a bound warns, a second one refuses the batch', async () => {
      // near ln(1/263), which a model without training gives every byte
      const sampledAt = (logProb: number) =>
        ROWS.map((row) => ({ ...row, tokens: { ids: row.tokens?.ids ?? [], logProbs: [logProb] } }));
      const updateOf = (logProb: number, more: Record<string, unknown> = {}, version = 0) =>
        backend.update(
          { checkpoint: first, reference: first, rows: sampledAt(logProb), settings: settingsOf('grpo', more), version, seed: 3 },
          signal,
        );
      const off = 0.67;
      for (const more of [{}, { correction: { weights: { level: 'token' } } }]) {
        const updated = await updateOf(-Math.log(263) + off, more);
        if (updated.kind !== 'updated') throw new Error(updated.reason);
        const { samplerK1 = 0, samplerK3 = 0, samplerMaxRatio = 0 } = updated.metrics;
        expect(samplerK1).toBeCloseTo(off, 1);
        expect(samplerK3).toBeCloseTo(Math.exp(-off) - 1 + off, 1);
        expect(samplerMaxRatio).toBeCloseTo(Math.exp(off), 0);
        expect(findMismatch(updated.metrics, settingsOf('grpo', more).mismatch)).toMatchObject({ kind: 'warn' });
      }
      const refused = { kind: 'refused', reason: expect.stringMatching(/mean k3 of \S+, more than 0\.5 .*mismatch\.stop/) };
      expect(await updateOf(-1)).toEqual(refused);
      expect(await updateOf(-1, {}, 1)).toMatchObject({ kind: 'updated' }); // an older version drew it: that it differs is training
      expect(await updateOf(-1, { mismatch: { stop: null } })).toMatchObject({ kind: 'updated' });
    });

    test('log-probs after an update are those of a forward pass over each row by the saved weights, and change no weight', async () => {
      const longer = given('b', 'r5', 99, 1, { tokens: { ids: [99, 98, 97], logProbs: [-5.5, -5, -6] }, temperature: 0.5 });
      const rows = [longer, ...ROWS.map((row) => ({ ...row, temperature: 0.5 }))];
      const input = { checkpoint: first, reference: first, rows, settings: settingsOf('grpo'), version: 9, seed: 3 };
      const without = await backend.update(input, signal);
      const updated = await backend.update({ ...input, logProbs: 'after' }, signal);
      if (without.kind !== 'updated' || updated.kind !== 'updated') throw new Error('refused');
      const { logProbs = [], ...same } = updated;
      expect(same).toEqual(without);
      expect(without.logProbs).toBeUndefined();
      const weights = checkpointFolder(folder, decodeTorchCheckpoint(updated.checkpoint));
      const chats = rows.map(({ chat, tokens }) => [chat?.messages, tokens?.ids]);
      const { stdout } = await run(options.python, ['-c', FORWARD, weights, JSON.stringify(chats)], {
        env: { ...process.env, PYTHONPATH: PYTHON_PACKAGE },
      });
      const wanted: readonly (readonly number[])[] = JSON.parse(stdout);
      expect(logProbs.map(({ length }) => length)).toEqual([3, 1, 1, 1, 1]);
      for (const [i, row] of wanted.entries())
        for (const [t, value] of row.entries()) expect(logProbs[i]?.[t]).toBeCloseTo(value, 5);
      const before = await backend.update({ ...input, checkpoint: updated.checkpoint, logProbs: 'after' }, signal);
      expect(before.kind === 'updated' && before.logProbs?.[0]?.[0]).not.toBeCloseTo(wanted[0]?.[0] ?? 0, 5);
    });

    test('training from a checkpoint equals training without interruption', async () => {
      const one = await update(ROWS);
      if (one.kind !== 'updated') throw new Error(one.reason);
      const two = await update(ROWS, settingsOf('grpo'), one.checkpoint);
      const other = await openTorchBackend(options, signal);
      try {
        const input = {
          checkpoint: one.checkpoint,
          reference: first,
          rows: ROWS,
          settings: settingsOf('grpo'),
          version: 9,
          seed: 3,
        };
        expect(await other.update(input, signal)).toEqual(two);
      } finally {
        await other.close();
      }
    });

    test('the backend updates with a critic, a KL penalty and GSPO', async () => {
      const ppo = await update(
        [...ROWS, given('b', 'r5', 99, 0, { end: 'truncated' })],
        settingsOf('gae', { kl: { kind: 'k3', coefficient: 0.1 }, entropyCoefficient: 0.01 }),
      );
      expect(ppo).toMatchObject({ kind: 'updated', estimator: { name: 'gae' } });
      expect(ppo.kind === 'updated' && Object.keys(ppo.metrics)).toEqual(
        expect.arrayContaining(['klLoss', 'valueLoss', 'entropy', 'oldKl']),
      );
      const gspo = settingsOf('grpo', {
        objective: { kind: 'policy-gradient', estimator: { name: 'grpo' }, loss: { name: 'gspo', options: { clipLow: 0.01 } } },
      });
      expect(await update(ROWS, gspo)).toMatchObject({
        kind: 'updated',
        loss: { name: 'gspo', revision: '1', mode: { clipLow: 0.01 } },
      });
    });

    test.each<[string, Partial<StepRow>, RegExp]>([
      ['without sampled tokens', { tokens: null }, /step 0 of rollout r9 has no sampled token ids/],
      ['of another temperature', { temperature: 0.5 }, /a batch has one/],
      ['that were taken greedily', { temperature: 0 }, /no gradient/],
      ['whose reward is not finite', { reward: Number.NaN }, /not finite/],
      ['beyond the vocabulary', { tokens: { ids: [263], logProbs: null } }, /outside the vocabulary of 263/],
      [
        'longer than the context',
        { tokens: { ids: Array.from({ length: 40 }, () => 97), logProbs: null } },
        /longer than the model's context of 32/,
      ],
    ])('the backend refuses rows %s', async (_what, change, reason) => {
      expect(await update([...ROWS, given('b', 'r9', 97, 1, change)])).toEqual({
        kind: 'refused',
        reason: expect.stringMatching(reason),
      });
    });

    test('rows that the backend cannot step by or correct are refused, with the reason', async () => {
      const correction = { weights: { level: 'token' } };
      const silent = [...ROWS, given('b', 'r9', 97, 1, { tokens: { ids: [97], logProbs: null } })];
      expect(await update(silent, settingsOf('grpo', { correction }))).toMatchObject({
        reason: expect.stringMatching(/step 0 of rollout r9 has no recorded log-probs; .* train without a correction/),
      });
      const rejection = { rules: 'token_k1', bounds: '1.0000001' };
      expect(await update(ROWS, settingsOf('grpo', { correction: { rejection } }))).toMatchObject({
        reason: expect.stringMatching(/rejects every token of the batch; widen its bounds/),
      });
      expect(await update(ROWS, settingsOf('grpo', { optimiser: 'sgd' }))).toMatchObject({
        reason: expect.stringMatching(/AdamW/),
      });
    });

    test('rejected tokens are not trained on, and are not counted as trained', async () => {
      const far = given('b', 'r5', 99, 1, { tokens: { ids: [99, 98], logProbs: [-5.5, -25] } });
      const rejection = { rules: 'token_k1', bounds: '1e-3_1e3' };
      const updated = await update([...ROWS, far], settingsOf('grpo', { correction: { rejection } }));
      expect(updated).toMatchObject({ metrics: { tokens: 5, rolloutRejectedTokens: 1 / 6, rolloutRejectedRows: 0 } });
    });

    test('the optimal baseline reads the squared probabilities of each token', async () => {
      const updated = await update(ROWS, settingsOf('optimal_token_baseline'));
      expect(updated).toMatchObject({ kind: 'updated', estimator: { name: 'optimal_token_baseline' } });
    });

    test('the coefficient of an adaptive penalty goes from one version to the next in the checkpoint', async () => {
      const controller = { kind: 'adaptive', target: 0.1, horizon: 10 };
      const settings = settingsOf('grpo', { kl: { kind: 'k1', coefficient: 0.5, in: 'reward', controller } });
      const one = await update(ROWS, settings);
      if (one.kind !== 'updated') throw new Error(one.reason);
      const left = decodeTorchCheckpoint(one.checkpoint).klCoefficient;
      expect(one.metrics.klCoefficient).toBe(0.5);
      expect(left).toBeCloseTo(0.5 * (1 - (0.2 * 4) / 10), 6); // a KL of 0 lies below the target by more than a fifth
      const two = await update(ROWS, settings, one.checkpoint);
      expect(two).toMatchObject({ metrics: { klCoefficient: left } });
      expect(two.kind === 'updated' && two.metrics.rewardKl).not.toBe(0);
    });

    test('the backend throws when a checkpoint is missing', async () => {
      const text = new TextDecoder().decode(first).replace(/("checkpoint":")../, '$100');
      await expect(update(ROWS, settingsOf('grpo'), new TextEncoder().encode(text))).rejects.toMatchObject({
        name: 'CheckpointDamaged',
      });
      await expect(update(ROWS, settingsOf('grpo'), new Uint8Array([1]))).rejects.toMatchObject({ name: 'CheckpointDamaged' });
    });
  },
);
