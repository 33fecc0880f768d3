import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openFolderObjects } from '../../blobs/folder-objects.ts';
import type { ObjectStore } from '../../blobs/object-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { dropKept, KeptFiles } from './kept-exports.ts';

const NEVER = new AbortController().signal;

let folder: string;
let scratch: string;
let objects: ObjectStore;
let files: KeptFiles;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-kept-'));
  scratch = await mkdtemp(join(tmpdir(), 'espalier-making-'));
  objects = openFolderObjects(folder);
  files = new KeptFiles(objects, scratch);
});
afterEach(async () => {
  await files.close();
  for (const each of [folder, scratch]) await rm(each, { recursive: true });
});

const make = (request: string, content: string, by = files) =>
  by.make(sha256Hex(request), NEVER, async (at) => {
    await writeFile(at, content, { mode: 0o644 });
    return { sha256: sha256Hex(content), bytes: content.length };
  });

/** Keeps a file that was made some minutes ago. */
async function keep(request: string, content: string, minutesAgo = 0): Promise<string> {
  const { name, sha256 } = await make(request, content);
  const made = Date.now() / 1000 - minutesAgo * 60;
  await utimes(join(folder, name), made, made);
  return sha256;
}

test('a file is found by its request and its content, at any server, and an equal one is kept once', async () => {
  const sha256 = await keep('a', 'one');
  await keep('a', 'one');
  await files.close();
  const another = new KeptFiles(openFolderObjects(folder), scratch);
  const found = await another.find(sha256Hex('a'), sha256);
  expect(found).toMatchObject({ sha256, bytes: 3 });
  expect(await another.find(sha256Hex('b'), sha256)).toBeUndefined();
  const part = found && (await another.open(found, { from: 1, until: 3 }));
  expect(part && (await text(part))).toBe('ne');
  await another.close();
  expect(await readdir(join(folder, 'exports'))).toHaveLength(1);
  expect(await readdir(scratch)).toEqual([]);
});

test('a file is removed an hour after it was made', async () => {
  const [old, young] = [await keep('old', 'one', 61), await keep('young', 'two', 59)];
  await files.sweep();
  expect(await files.find(sha256Hex('old'), old)).toBeUndefined();
  expect(await files.find(sha256Hex('young'), young)).toBeDefined();
});

test('beyond the most bytes the oldest files are removed', async () => {
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

test('a file whose writing failed leaves nothing', async () => {
  await expect(files.make(sha256Hex('a'), NEVER, () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect([await readdir(folder), await readdir(scratch)]).toEqual([[], []]);
});

test('other objects of the store stay, whatever is dropped and swept', async () => {
  for (const name of ['exports/of-a-user', 'ab/cd/blob']) {
    await objects.put(name, Buffer.from('theirs'), 'keep');
    await utimes(join(folder, name), 0, 0);
  }
  const sha256 = await keep('a', 'one');
  await files.sweep();
  await dropKept(objects);
  expect(await files.find(sha256Hex('a'), sha256)).toBeUndefined();
  expect(await Promise.all(['exports/of-a-user', 'ab/cd/blob'].map((name) => objects.stat(name)))).toMatchObject([
    { bytes: 6 },
    { bytes: 6 },
  ]);
});

test('a sweep leaves what this process makes, however long, and removes what a killed one made', async () => {
  const killed = join(scratch, '01a1fa73-c82f-7118-abe0-73ea2f1118d4.making');
  await files.make(sha256Hex('b'), NEVER, async (at) => {
    await writeFile(at, 'two');
    for (const each of [at, join(at, '..')]) await utimes(each, 0, 0);
    await mkdir(killed);
    await writeFile(join(killed, 'data'), 'half');
    for (const each of [join(killed, 'data'), killed]) await utimes(each, 0, 0);
    await files.sweep();
    expect((await stat(at)).size).toBe(3);
    return { sha256: sha256Hex('two'), bytes: 3 };
  });
  expect(await readdir(scratch)).toEqual([]);
});

test('a file that was removed is not opened', async () => {
  const made = await make('a', 'one');
  await dropKept(objects);
  expect(await files.open(made, { from: 0, until: 3 })).toBeUndefined();
  expect(await files.open(made, { from: 0, until: 0 })).toBeUndefined();
});

test('what is made and what is kept is for its user alone', async () => {
  await chmod(scratch, 0o755);
  const { name } = await make('a', 'one');
  expect([(await stat(scratch)).mode & 0o777, (await stat(join(folder, name))).mode & 0o777]).toEqual([0o700, 0o600]);
});

test('nothing is made on a disk that is about full, or where no folder can be', async () => {
  await writeFile(join(scratch, 'file'), '');
  for (const other of [new KeptFiles(objects, scratch, Number.MAX_SAFE_INTEGER), new KeptFiles(objects, join(scratch, 'file'))]) {
    await expect(make('a', '', other)).rejects.toMatchObject({ code: 'cannot-write' });
    await other.close();
  }
  expect([await readdir(folder), await readdir(scratch)]).toEqual([[], ['file']]);
});
