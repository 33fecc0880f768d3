import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../../testing/python.ts';
import { readSafetensors } from '../../rows/safetensors.ts';
import { openTorchBackend } from './torch-backend.ts';
import { checkpointFolder, type TorchCheckpoint, torchDamage } from './torch-checkpoint.ts';
import { startTorch } from './torch-session.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';
const { signal } = new AbortController();
const LONGEST_MS = 600_000; // each start of torch takes most of a minute on a loaded machine

const ROWS = [
  { prompt: [258, 65, 66, 67], sampled: [68, 69] },
  { prompt: [258, 70], sampled: [71] },
  { prompt: [258, 72, 73], sampled: [74, 75, 76] },
];
const ADVANTAGES = [Float64Array.of(1, -1), Float64Array.of(0.5), Float64Array.of(-0.5, 0.25, 2)];
const SETTINGS = {
  loss: { name: 'dual_clip', options: { clipLow: 0.2, clipHigh: 0.2, dualClip: 3 } },
  miniBatches: [[[0, 1], [2]], [[0, 1, 2]]],
  learningRate: 1e-4,
};
// A bias of the keys has no gradient but rounding, of which Adam makes a whole step of any size below the learning rate.
const LARGEST_DIFFERENCE = 1e-5;

function largestDifference(one: readonly number[] = [], other: readonly number[] = []): number {
  expect(one).toHaveLength(other.length);
  return one.reduce((most, value, i) => Math.max(most, Math.abs(value - (other[i] ?? Number.NaN))), 0);
}

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `several processes of torch ${found.torch}` : `several processes of torch: skipped, ${found.reason}`,
  () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-processes-'));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    test(
      'the Python tests of several processes pass',
      async () => {
        const said = await new Promise<string>((resolve) => {
          const command = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.', '-p', 'long_*.py'];
          execFile(python, command, { cwd: 'python', timeout: LONGEST_MS, maxBuffer: 16 * 2 ** 20 }, (_error, stdout, stderr) => {
            resolve(stdout + stderr);
          });
        });
        expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK\n/);
      },
      LONGEST_MS,
    );

    test(
      'two processes yield the weights of one within 1e-5, and are ended by their owner',
      async () => {
        const model = { kind: 'tiny', layers: 2, width: 16, heads: 2, context: 32 } as const;
        const weights = [];
        for (const processes of [1, 2]) {
          const torch = await startTorch({ python, model, folder, device: 'cpu', processes }, 3, signal);
          try {
            expect(torch.facts).toMatchObject({ rows: 'packed', memory: { processes, perParameter: 16 } });
            const session = torch.under(signal);
            const weightsOf = async (state: TorchCheckpoint) =>
              readSafetensors(await readFile(join(checkpointFolder(folder, state), 'model.safetensors'))).tensors;
            weights.push(await weightsOf(await session.save()));
            const old_log_probs = (await session.read(ROWS, [[0, 1, 2]], { temperature: 1, squaredProbs: false }))('log_probs');
            await session.update(ROWS, { old_log_probs, advantages: ADVANTAGES }, SETTINGS);
            const state = await session.save();
            expect(await torchDamage(folder, state)).toBeNull();
            weights.push(await weightsOf(state));
          } finally {
            await torch.close();
          }
          expect(torch.ended()).toBe(true);
        }
        const [first, one, again, two] = weights.map((tensors) => [...tensors.values()].flatMap(({ data }) => [...data]));
        expect(again).toEqual(first);
        expect(largestDifference(one, first)).toBeGreaterThan(10 * LARGEST_DIFFERENCE);
        expect(largestDifference(one, two)).toBeLessThanOrEqual(LARGEST_DIFFERENCE);
      },
      LONGEST_MS,
    );

    test(
      'LoRA without a model of transformers is refused with the reason',
      async () => {
        const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 32 } as const;
        await expect(openTorchBackend({ python, model, folder, lora: { rank: 4 } }, signal)).rejects.toMatchObject({
          name: 'BackendFailed',
          code: 'refused',
          message: expect.stringContaining('not a tiny model'),
        });
      },
      LONGEST_MS,
    );
  },
);
