import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import { dropKept, KeptFiles, openPart } from './kept-exports.ts';

const NEVER = new AbortController().signal;

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
async function keep(request: string, text: string, minutesAgo = 0): Promise<string> {
  const sha256 = sha256Hex(text);
  const { path } = await files.make(sha256Hex(request), NEVER, async (at) => {
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
  expect(await files.find(sha256Hex('a'), sha256)).toMatchObject({ sha256, bytes: 3 });
  expect(await files.find(sha256Hex('b'), sha256)).toBeUndefined();
  expect(await readdir(folder)).toHaveLength(1);
});

test('a file that was not read for a quarter of an hour is removed', async () => {
  const [old, young] = [await keep('old', 'one', 16), await keep('young', 'two', 14)];
  await files.sweep();
  expect(await files.find(sha256Hex('old'), old)).toBeUndefined();
  expect(await files.find(sha256Hex('young'), young)).toBeDefined();
});

test('beyond the most bytes the files that were read longest ago are removed', async () => {
  const digests = [
    await keep('a', 'x'.repeat(10_000), 3),
    await keep('b', 'y'.repeat(10_000), 2),
    await keep('c', 'z'.repeat(10_000), 1),
  ];
  await files.sweep(9_000);
  const kept = await Promise.all(
    ['a', 'b', 'c'].map(async (key, i) => (await files.find(sha256Hex(key), digests[i] ?? '')) !== undefined),
  );
  expect(kept).toEqual([false, false, true]);
});

test('a file whose writing failed leaves nothing, and closing removes what is kept', async () => {
  await expect(files.make(sha256Hex('a'), NEVER, () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await readdir(folder)).toEqual([]);
  await keep('b', 'one');
  await files.close();
  expect(await readdir(folder)).toEqual([]);
});

test('what others have in the folder stays, whatever is dropped, swept and closed', async () => {
  await mkdir(join(folder, 'of-a-user'));
  await writeFile(join(folder, 'sft.jsonl'), 'theirs');
  for (const name of ['of-a-user', 'sft.jsonl']) await utimes(join(folder, name), 0, 0);
  await keep('a', 'one', 16);
  await files.sweep();
  await dropKept(folder);
  await files.close();
  expect((await readdir(folder)).sort()).toEqual(['of-a-user', 'sft.jsonl']);
});

test('closing leaves what another process made, and a sweep what this one makes, however long', async () => {
  const others = new KeptFiles(folder);
  const sha256 = await keep('a', 'one');
  await others.close();
  expect(await files.find(sha256Hex('a'), sha256)).toBeDefined();
  await files.make(sha256Hex('b'), NEVER, async (at) => {
    await writeFile(at, 'two');
    for (const each of [at, join(at, '..')]) await utimes(each, 0, 0);
    await files.sweep();
    expect((await stat(at)).size).toBe(3);
    return { sha256: sha256Hex('two'), bytes: 3 };
  });
});

test('a file that is made again when an equal one is about to be removed is there, and one that was removed is not opened', async () => {
  await keep('a', 'one', 16);
  const { path } = await files.make(sha256Hex('a'), NEVER, async (at) => {
    await writeFile(at, 'one');
    return { sha256: sha256Hex('one'), bytes: 3 };
  });
  expect((await stat(path)).size).toBe(3);
  await dropKept(folder);
  expect(await openPart(path, { from: 0, until: 3 })).toBeUndefined();
});

test('folder and files are for their user alone', async () => {
  await chmod(folder, 0o755);
  const { path } = await files.make(sha256Hex('a'), NEVER, async (at) => {
    await writeFile(at, 'one', { mode: 0o644 });
    return { sha256: sha256Hex('one'), bytes: 3 };
  });
  const modes = await Promise.all([folder, join(path, '..'), path].map(async (each) => (await stat(each)).mode & 0o777));
  expect(modes).toEqual([0o700, 0o700, 0o600]);
});

test('nothing is made on a disk that is about full, or where no folder can be', async () => {
  const made = async () => ({ sha256: sha256Hex(''), bytes: 0 });
  await writeFile(join(folder, 'file'), '');
  for (const other of [new KeptFiles(folder, Number.MAX_SAFE_INTEGER), new KeptFiles(join(folder, 'file'))]) {
    await expect(other.make(sha256Hex('a'), NEVER, made)).rejects.toMatchObject({ code: 'cannot-write' });
    await other.close();
  }
  expect(await readdir(folder)).toEqual(['file']);
});
