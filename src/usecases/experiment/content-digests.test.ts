import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { digestOfContent } from './content-digests.ts';

let home: string;
let kept: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-folders-'));
  kept = join(home, 'cache', 'digests.json');
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
  const first = await digestOfContent(await model('one', 'w1'), kept);
  expect(await digestOfContent(await model('two', 'w1'), kept)).toBe(first);
  expect(await digestOfContent(await model('three', 'w2'), kept)).not.toBe(first);
  const renamed = await model('four', 'w1');
  await writeFile(join(renamed, 'more.txt'), '');
  expect(await digestOfContent(renamed, kept)).not.toBe(first);
});

test('a file is read again when its size or its time differs, and not before', async () => {
  const folder = await model('one', 'w1');
  const first = await digestOfContent(folder, kept);
  const file = join(folder, 'config.json');
  await utimes(file, 1_000, 1_000);
  await digestOfContent(folder, kept);
  await writeFile(file, '[]');
  await utimes(file, 1_000, 1_000);
  expect(await digestOfContent(folder, kept)).toBe(first); // as long, and of the same time
  await utimes(file, 2_000, 2_000);
  expect(await digestOfContent(folder, kept)).not.toBe(first);
  expect(Object.keys(JSON.parse(await readFile(kept, 'utf8')))).toHaveLength(3);
});

test('a file counts by its content too, and what is not there is refused by its name', async () => {
  const one = join(home, 'one.jsonl');
  const two = join(home, 'two.jsonl');
  await Promise.all([writeFile(one, '{}'), writeFile(two, '{}')]);
  expect(await digestOfContent(one, kept)).toBe(await digestOfContent(two, kept));
  await expect(digestOfContent(join(home, 'nowhere'), kept)).rejects.toThrow(/nowhere cannot be read \(ENOENT\)/);
});
