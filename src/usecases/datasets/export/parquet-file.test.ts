import { expect, test } from '@jest/globals';
import { double, float, int32, list, optional, ParquetFile, struct, text } from './parquet-file.ts';

const SHAPE = {
  name: 'numbers/1',
  columns: [
    text('traj_uid'),
    double('return'),
    optional(float('score')),
    list('steps', struct('element', [int32('depth'), optional(list('log_probs', float('element'))), double('reward')])),
  ],
};
const opened = () => new ParquetFile({ write: async () => undefined }, SHAPE);
const row = { traj_uid: 'a', return: 1e39, score: null, steps: [{ depth: 1, log_probs: [-0.5], reward: 1e39 }] };

test('a number beyond float32 is refused by its column and row wherever a column of float32 is', async () => {
  await expect(opened().write({ ...row, score: 1e39 }, 1)).rejects.toThrow(
    'score of the row traj_uid a holds 1e+39, which is infinite in float32',
  );
  const steps = [...row.steps, { depth: 2, log_probs: [0, -1e39], reward: 0 }];
  await expect(opened().write({ ...row, steps }, 1)).rejects.toThrow('steps.log_probs of the row traj_uid a holds -1e+39');
});

test('columns of doubles, null, and numbers that are not finite by themselves are written', async () => {
  const file = opened();
  await file.write(row, 1);
  await file.write({ ...row, score: Number.NaN, steps: [{ depth: 1, log_probs: null, reward: 0 }] }, 1);
  await file.write({ ...row, score: Number.NEGATIVE_INFINITY, steps: [] }, 1);
  await file.finish();
});
