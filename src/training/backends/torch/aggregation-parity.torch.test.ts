import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AggregationMode, aggregate, aggregationWeights, TOKEN_MEAN } from '../../../domain/training/losses/policy-loss.ts';
import { pythonForTests } from '../../../testing/python.ts';
import { startTorch, type TorchProcess } from './torch-session.ts';

const found = await pythonForTests();
const signal = new AbortController().signal;
const MODES: readonly AggregationMode[] = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'];
const LOSS_SCALE = 5;
const RESPONSES = [
  [66, 67, 68, 69],
  [70, 71],
];
const ADVANTAGES = [Float64Array.of(1, -0.5, 2, 0.25), Float64Array.of(-1.5, 0.75)];

/** At the weights that sampled, every ratio is 1 and the loss of a token is −A. */
function expectedLoss(mode: AggregationMode): number {
  const losses = ADVANTAGES.map((row) => row.map((value) => -value));
  const masks = RESPONSES.map(({ length }) => new Uint8Array(length).fill(1));
  return aggregate(losses, aggregationWeights(masks, { ...TOKEN_MEAN, mode, lossScale: LOSS_SCALE }));
}

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `aggregated losses of torch ${found.torch}` : `aggregated losses of torch: skipped, ${found.reason}`,
  () => {
    let folder: string;
    let torch: TorchProcess;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-torch-'));
      const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 256 } as const;
      const python = found.kind === 'found' ? found.python : '';
      torch = await startTorch({ python, model, folder, device: 'cpu' }, 1, signal);
    });
    afterAll(async () => {
      await torch?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test.each(MODES)('the losses by %s equal those of src/domain/training, however long the prompts are', async (mode) => {
      for (const lengths of [
        [4, 4],
        [200, 1],
        [30, 100],
      ]) {
        const rows = RESPONSES.map((sampled, i) => ({ prompt: Array<number>(lengths[i] ?? 0).fill(65), sampled }));
        const session = torch.under(signal);
        const old_log_probs = (await session.read(rows, [[0, 1]], { temperature: 1, squaredProbs: false }))('log_probs');
        for (const micro of [[[0, 1]], [[1], [0]]]) {
          const rest = { aggregation: mode, lossScale: LOSS_SCALE, miniBatches: [micro], learningRate: 1e-12 };
          const settings = { loss: { name: 'dual_clip', options: { clipLow: 0.2, clipHigh: 0.2, dualClip: 3 } }, ...rest };
          const metrics = await session.update(rows, { old_log_probs, advantages: ADVANTAGES }, settings);
          expect(metrics.policyLoss).toBeCloseTo(expectedLoss(mode), 4);
        }
      }
    });
  },
);
