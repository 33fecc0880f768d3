import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BlobCorrupt, BlobMissing } from './blob-store.ts';
import { openFileBlobStore } from './file-blob-store.ts';

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

async function files(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name).slice(root.length + 1)] : []));
}
