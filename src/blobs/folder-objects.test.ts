import { mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openFolderObjects } from './folder-objects.ts';
import { objectsContract } from './objects.contract.ts';

const HELLO = new TextEncoder().encode('hello');
const NAME = '2c/f2/hello';
const HOUR = 3_600_000;

let folder: string;
let files: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-objects-'));
  files = await mkdtemp(join(tmpdir(), 'espalier-files-'));
});
afterEach(async () => {
  for (const each of [folder, files]) await rm(each, { recursive: true, force: true });
});
const age = async (name: string) => {
  const old = new Date(Date.now() - 2 * HOUR);
  await utimes(join(folder, name), old, old);
};

describe('a folder', () => {
  objectsContract(() => ({ objects: openFolderObjects(folder), files, age }));

  test('a second put that keeps changes nothing, also when many run at once, and no draft is left', async () => {
    const objects = openFolderObjects(folder);
    await objects.put(NAME, HELLO, 'keep');
    expect(await readFile(join(folder, NAME), 'utf8')).toBe('hello');
    const before = await stat(join(folder, NAME));
    await Promise.all(Array.from({ length: 10 }, () => objects.put(NAME, HELLO, 'keep')));
    expect((await stat(join(folder, NAME))).ino).toBe(before.ino);
    const large = new Uint8Array(300_000).fill(7);
    await Promise.all(Array.from({ length: 10 }, () => openFolderObjects(folder).put('x/large', large, 'keep')));
    expect(await filesOf(folder)).toEqual([NAME, 'x/large']);
  });

  test('a put into a folder that is not writable fails and leaves nothing behind', async () => {
    await writeFile(join(folder, '2c'), 'in the way');
    await expect(openFolderObjects(folder).put(NAME, HELLO, 'keep')).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readdir(folder)).toEqual(['2c']);
  });
});

describe('removing from a folder', () => {
  test('an object that is put at any moment of removals can be read when the put returns', async () => {
    const stores = Array.from({ length: 4 }, () => openFolderObjects(folder));
    const [store] = stores as [(typeof stores)[number]];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 3, maxLength: 6 }), async (turns) => {
        await store.put(NAME, HELLO, 'keep');
        await age(NAME);
        const rest = async (of: number) => {
          for (let i = 0; i < of; i++) await new Promise((resolve) => setImmediate(resolve));
        };
        const [first = 0, second = 0, ...removers] = turns;
        const read = async (pause: number) => {
          await rest(pause);
          await store.put(NAME, HELLO, 'keep');
          return store.get(NAME);
        };
        const removed = removers.map(async (pause, i) => {
          await rest(pause);
          await (stores[i % 4] ?? store).remove(NAME, HOUR);
        });
        const reads = await Promise.all([read(first), read(second), ...removed]);
        expect(Buffer.from(reads[0] as Uint8Array).toString()).toBe('hello');
        expect(Buffer.from((await store.get(NAME)) ?? []).toString()).toBe('hello');
      }),
      { numRuns: 150 },
    );
  });

  test('what a killed removal left aside is read, put back, and never taken for gone', async () => {
    const objects = openFolderObjects(folder);
    await objects.put(NAME, HELLO, 'keep');
    await age(NAME);
    const path = join(folder, NAME);
    await rename(path, `${path}.0123456789ab.removing`);
    expect(await objects.stat(NAME)).toMatchObject({ bytes: 5 });
    expect(Buffer.from((await objects.get(NAME)) ?? []).toString()).toBe('hello');
    await writeFile(`${path}.ba9876543210`, 'half');
    await utimes(`${path}.ba9876543210`, 0, 0);
    const listed: string[] = [];
    for await (const { name } of objects.list('2c/')) listed.push(name);
    expect(listed).toEqual([NAME]);
    expect(await filesOf(folder)).toEqual([NAME, `${NAME}.ba9876543210`]);
    expect(await objects.sweep(HOUR, 'count')).toEqual({ files: 1, bytes: 4 });
    expect(await objects.sweep(HOUR, 'delete')).toEqual({ files: 1, bytes: 4 });
    expect(await filesOf(folder)).toEqual([NAME]);
  });

  test('what a killed removal left aside goes when the object is removed again, unless it was put within the grace time', async () => {
    const objects = openFolderObjects(folder);
    await objects.put(NAME, HELLO, 'keep');
    const path = join(folder, NAME);
    await rename(path, `${path}.0123456789ab.removing`);
    expect([await objects.remove(NAME, HOUR), (await objects.stat(NAME)) !== undefined]).toEqual([false, true]);
    await utimes(`${path}.0123456789ab.removing`, 0, 0);
    expect([await objects.remove(NAME, HOUR), await objects.stat(NAME)]).toEqual([true, undefined]);
    expect(await filesOf(folder)).toEqual([]);
  });
});

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name).slice(root.length + 1)] : [])).sort();
}
