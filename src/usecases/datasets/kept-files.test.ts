import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import { KeptFiles } from './kept-files.ts';

let folder: string;
let files: KeptFiles;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-kept-'));
  files = new KeptFiles(folder);
});
afterEach(async () => {
  await files.close();
  await rm(folder, { recursive: true });
});

/** Keeps a file that was read some minutes ago. */
async function keep(key: string, text: string, minutesAgo = 0): Promise<string> {
  const sha256 = sha256Hex(text);
  const { path } = await files.make(key, async (at) => {
    await writeFile(at, text);
    return { sha256, bytes: text.length };
  });
  const read = Date.now() / 1000 - minutesAgo * 60;
  for (const each of [path, join(path, '..')]) await utimes(each, read, read);
  return sha256;
}

test('a file is found by its request and its content, and an equal one is kept once', async () => {
  const sha256 = await keep('a', 'one');
  await keep('a', 'one');
  expect(await files.find('a', sha256)).toMatchObject({ sha256, bytes: 3 });
  expect(await files.find('b', sha256)).toBeUndefined();
  expect(await readdir(folder)).toHaveLength(1);
});

test('a file that was not read for a quarter of an hour is removed', async () => {
  const [old, young] = [await keep('old', 'one', 16), await keep('young', 'two', 14)];
  await files.sweep();
  expect(await files.find('old', old)).toBeUndefined();
  expect(await files.find('young', young)).toBeDefined();
});

test('beyond the most bytes the files that were read longest ago are removed', async () => {
  const digests = [
    await keep('a', 'x'.repeat(10_000), 3),
    await keep('b', 'y'.repeat(10_000), 2),
    await keep('c', 'z'.repeat(10_000), 1),
  ];
  await files.sweep(9_000);
  const kept = await Promise.all(['a', 'b', 'c'].map(async (key, i) => (await files.find(key, digests[i] ?? '')) !== undefined));
  expect(kept).toEqual([false, false, true]);
});

test('a file whose writing failed leaves nothing, and closing removes what is kept', async () => {
  await expect(files.make('a', () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await readdir(folder)).toEqual([]);
  await keep('b', 'one');
  await files.close();
  expect(await readdir(folder)).toEqual([]);
});
