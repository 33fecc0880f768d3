import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { digestOfContent } from './key-of-stage.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-folders-'));
});
afterEach(() => rm(home, { recursive: true }));

async function model(name: string, weights: string): Promise<string> {
  const folder = join(home, name);
  await mkdir(join(folder, 'tokenizer'), { recursive: true });
  await writeFile(join(folder, 'config.json'), '{}');
  await writeFile(join(folder, 'tokenizer', 'vocab.txt'), 'a b');
  await writeFile(join(home, `${name}.weights`), weights);
  await symlink(join(home, `${name}.weights`), join(folder, 'model.safetensors'));
  return folder;
}

test('a folder is known by the names and contents of its files, wherever it lies', async () => {
  const first = await digestOfContent(await model('one', 'w1'));
  expect(await digestOfContent(await model('two', 'w1'))).toBe(first);
  expect(await digestOfContent(await model('three', 'w2'))).not.toBe(first);
  const renamed = await model('four', 'w1');
  await writeFile(join(renamed, 'more.txt'), '');
  expect(await digestOfContent(renamed)).not.toBe(first);
});

test('a file counts by its content too, and what is not there is refused by its name', async () => {
  const one = join(home, 'one.jsonl');
  const two = join(home, 'two.jsonl');
  await Promise.all([writeFile(one, '{}'), writeFile(two, '{}')]);
  expect(await digestOfContent(one)).toBe(await digestOfContent(two));
  await expect(digestOfContent(join(home, 'nowhere'))).rejects.toThrow(/nowhere cannot be read \(ENOENT\)/);
});
