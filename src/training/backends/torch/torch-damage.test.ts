import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeSafetensors } from '../../rows/safetensors.ts';
import { type TorchCheckpoint, torchDamage } from './torch-checkpoint.ts';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

let root: string;
let folder: string;
let manifest: TorchCheckpoint;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'espalier-torch-'));
  // As the trainer lays tensors out: by name, without metadata. The file that a library wrote has another order, and metadata.
  const tensor = (name: string, ...values: number[]) => ({ name, shape: [values.length], data: Float32Array.from(values) });
  const [a, b] = [tensor('a', 1, 2, 3), tensor('b.weight', 4)];
  const laidOut = (...tensors: (typeof a)[]) => {
    let offset = 0;
    const entries = tensors.map(({ name, shape, data }) => {
      const begin = offset;
      offset += data.byteLength;
      return [name, { dtype: 'F32', shape, data_offsets: [begin, offset] }];
    });
    const text = JSON.stringify(Object.fromEntries(entries));
    const padded = text.padEnd(Math.ceil(text.length / 8) * 8, ' ');
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(padded.length));
    return Buffer.concat([length, Buffer.from(padded), ...tensors.map(({ data }) => Buffer.from(data.buffer))]);
  };
  const trainer = laidOut(tensor('head.bias', 0.5));
  const said = { format: 'espalier-torch/1' as const, rest: sha256(trainer), steps: 3, weights: sha256(laidOut(a, b)) };
  const named = `{"format": "${said.format}", "rest": "${said.rest}", "steps": 3, "weights": "${said.weights}"}`;
  manifest = { ...said, checkpoint: sha256(named) };
  folder = join(root, manifest.checkpoint);
  await mkdir(folder);
  await writeFile(join(folder, 'trainer.safetensors'), trainer);
  await writeFile(join(folder, 'model.safetensors'), Buffer.concat(writeSafetensors([b, a], { format: 'pt' })));
  await writeFile(join(folder, 'config.json'), '{"tie_word_embeddings": false}');
  await writeFile(join(folder, 'state.json'), JSON.stringify(manifest));
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('files of a torch checkpoint', () => {
  test('untouched files verify, in whatever order the model was written', async () => {
    expect(await torchDamage(root, manifest)).toBeNull();
  });

  test.each(['trainer.safetensors', 'model.safetensors', 'state.json'])(
    'the verification names %s when one bit of it was flipped',
    async (name) => {
      const file = join(folder, name);
      const bytes = await readFile(file);
      for (const at of [bytes.length - 2, bytes.length - 20]) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        await writeFile(file, flipped);
        expect(await torchDamage(root, manifest)).toEqual({ kind: 'changed', detail: expect.stringContaining(name) });
      }
      await writeFile(file, bytes);
      await rename(file, `${file}.away`);
      expect(await torchDamage(root, manifest)).toMatchObject({ kind: 'missing' });
      await rename(`${file}.away`, file);
    },
  );

  test('an adapter verifies as a model does, and a change to it is named', async () => {
    const [model, adapter] = [join(folder, 'model.safetensors'), join(folder, 'adapter_model.safetensors')];
    await rename(model, adapter);
    expect(await torchDamage(root, manifest)).toBeNull();
    const bytes = await readFile(adapter);
    await writeFile(adapter, Buffer.from([...bytes.subarray(0, -1), 1]));
    expect(await torchDamage(root, manifest)).toEqual({ kind: 'changed', detail: expect.stringContaining('adapter_model') });
    await writeFile(model, bytes);
    await rm(adapter);
  });

  test('the files are exactly those that the manifest names', async () => {
    const other = { ...manifest, steps: 4 };
    expect(await torchDamage(root, other)).toEqual({ kind: 'changed', detail: expect.stringContaining('does not add up') });
  });
});
