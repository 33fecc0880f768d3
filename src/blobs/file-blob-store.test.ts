import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BlobCorrupt, BlobMissing } from './blob-store.ts';
import { listOldFiles, openFileBlobStore } from './file-blob-store.ts';

const HELLO = new TextEncoder().encode('hello');
const HELLO_NAME = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-blobs-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('put and get', () => {
  test('a blob is stored under its SHA-256 in two levels of folders, and its reference describes it', async () => {
    const store = openFileBlobStore(folder);
    expect(await store.put(HELLO, 'text/plain')).toEqual({ blob: HELLO_NAME, size: 5, mediaType: 'text/plain' });
    expect(await readFile(join(folder, '2c/f2', HELLO_NAME), 'utf8')).toBe('hello');
    expect(await files(folder)).toEqual([`2c/f2/${HELLO_NAME}`]); // no draft is left
  });

  test('any bytes are read back as they were put', async () => {
    const store = openFileBlobStore(folder);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
        const { blob, size } = await store.put(bytes, 'application/octet-stream');
        expect(blob).toBe(createHash('sha256').update(bytes).digest('hex'));
        expect(size).toBe(bytes.byteLength);
        expect(Buffer.compare(await store.get(blob), bytes)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test('a second put changes nothing, also when many run at once', async () => {
    const store = openFileBlobStore(folder);
    await store.put(HELLO, 'text/plain');
    const before = await stat(join(folder, '2c/f2', HELLO_NAME));
    await Promise.all(Array.from({ length: 10 }, () => store.put(HELLO, 'text/plain')));
    expect((await stat(join(folder, '2c/f2', HELLO_NAME))).ino).toBe(before.ino);
    const large = new Uint8Array(300_000).fill(7);
    const refs = await Promise.all(Array.from({ length: 10 }, () => openFileBlobStore(folder).put(large, 'x')));
    expect(new Set(refs.map(({ blob }) => blob)).size).toBe(1);
    expect(await files(folder)).toHaveLength(2);
  });

  test('the store reports which blobs exist', async () => {
    const store = openFileBlobStore(folder);
    expect(await store.has(HELLO_NAME)).toBe(false);
    await store.put(HELLO, 'text/plain');
    expect(await store.has(HELLO_NAME)).toBe(true);
  });
});

describe('refused blobs', () => {
  test('a missing blob is refused', async () => {
    await expect(openFileBlobStore(folder).get(HELLO_NAME)).rejects.toBeInstanceOf(BlobMissing);
  });

  test('a blob with changed content is refused', async () => {
    const store = openFileBlobStore(folder);
    await store.put(HELLO, 'text/plain');
    const path = join(folder, '2c/f2', HELLO_NAME);
    await chmod(path, 0o644);
    await writeFile(path, 'jello');
    await expect(store.get(HELLO_NAME)).rejects.toBeInstanceOf(BlobCorrupt);
  });

  test.each([
    '',
    '../../etc/passwd',
    `../${HELLO_NAME}`,
    HELLO_NAME.toUpperCase(),
    `${HELLO_NAME}/`,
    `${HELLO_NAME}\n`,
    HELLO_NAME.slice(1),
  ])('the blob name %j is refused', async (name) => {
    const store = openFileBlobStore(folder);
    await expect(store.get(name)).rejects.toBeInstanceOf(RangeError);
    await expect(store.has(name)).rejects.toBeInstanceOf(RangeError);
  });

  test('a put into a folder that is not writable fails and leaves nothing behind', async () => {
    await writeFile(join(folder, '2c'), 'in the way');
    await expect(openFileBlobStore(folder).put(HELLO, 'text/plain')).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readdir(folder)).toEqual(['2c']);
  });
});

describe('removing', () => {
  const HOUR = 3_600_000;
  const age = async (name: string) => {
    const old = new Date(Date.now() - 2 * HOUR);
    await utimes(join(folder, name.slice(0, 2), name.slice(2, 4), name), old, old);
  };

  test('a blob goes when nobody put it within the grace time, and stays when somebody did', async () => {
    const store = openFileBlobStore(folder);
    await store.put(HELLO, 'text/plain');
    expect([await store.remove(HELLO_NAME, HOUR), await store.has(HELLO_NAME)]).toEqual([false, true]);
    await age(HELLO_NAME);
    await store.put(HELLO, 'text/plain');
    expect([await store.remove(HELLO_NAME, HOUR), await store.has(HELLO_NAME)]).toEqual([false, true]);
    await age(HELLO_NAME);
    expect([await store.remove(HELLO_NAME, HOUR), await store.has(HELLO_NAME)]).toEqual([true, false]);
    expect(await files(folder)).toEqual([]);
  });

  test('a blob that is put while it is removed, by however many, can be read when the put returns', async () => {
    const stores = Array.from({ length: 4 }, () => openFileBlobStore(folder));
    const [store] = stores as [(typeof stores)[number]];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 3, maxLength: 6 }), async (turns) => {
        await store.put(HELLO, 'text/plain');
        await age(HELLO_NAME);
        const rest = async (of: number) => {
          for (let i = 0; i < of; i++) await new Promise((resolve) => setImmediate(resolve));
        };
        const [first = 0, second = 0, ...removers] = turns;
        const read = async (pause: number) => {
          await rest(pause);
          await store.put(HELLO, 'text/plain');
          return store.get(HELLO_NAME);
        };
        const removed = removers.map(async (pause, i) => {
          await rest(pause);
          await (stores[i % 4] ?? store).remove(HELLO_NAME, HOUR);
        });
        const reads = await Promise.all([read(first), read(second), ...removed]);
        expect(Buffer.from(reads[0] as Uint8Array).toString()).toBe('hello');
        expect(Buffer.from(await store.get(HELLO_NAME)).toString()).toBe('hello');
      }),
      { numRuns: 150 },
    );
  });

  test('what a killed removal left aside is read, put back, and never taken for gone', async () => {
    const store = openFileBlobStore(folder);
    await store.put(HELLO, 'text/plain');
    await age(HELLO_NAME);
    const path = join(folder, '2c/f2', HELLO_NAME);
    await rename(path, `${path}.0123456789ab.removing`);
    expect([await store.has(HELLO_NAME), Buffer.from(await store.get(HELLO_NAME)).toString()]).toEqual([true, 'hello']);
    await writeFile(`${path}.ba9876543210`, 'half');
    await utimes(`${path}.ba9876543210`, 0, 0);
    expect(await listOldFiles(folder, HOUR)).toEqual({
      blobs: [{ name: HELLO_NAME, bytes: 5 }],
      drafts: [{ name: `${path}.ba9876543210`, bytes: 4 }],
      young: 0,
    });
    expect((await files(folder)).sort()).toEqual([`2c/f2/${HELLO_NAME}`, `2c/f2/${HELLO_NAME}.ba9876543210`]);
  });

  test('what a killed removal left aside goes when the blob is removed again, unless it was put within the grace time', async () => {
    const store = openFileBlobStore(folder);
    await store.put(HELLO, 'text/plain');
    const path = join(folder, '2c/f2', HELLO_NAME);
    await rename(path, `${path}.0123456789ab.removing`);
    expect([await store.remove(HELLO_NAME, HOUR), await store.has(HELLO_NAME)]).toEqual([false, true]);
    await utimes(`${path}.0123456789ab.removing`, 0, 0);
    expect([await store.remove(HELLO_NAME, HOUR), await store.has(HELLO_NAME)]).toEqual([true, false]);
    expect(await files(folder)).toEqual([]);
  });
});

async function files(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name).slice(root.length + 1)] : []));
}
