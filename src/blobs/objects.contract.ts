import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BlobCorrupt, BlobMissing, openBlobStore } from './blob-store.ts';
import { openKeyedStore } from './keyed-store.ts';
import type { ObjectStore } from './object-store.ts';

const HELLO = new TextEncoder().encode('hello');
const HELLO_NAME = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const HOUR = 3_600_000;

/** What a test of a store has at hand. */
export interface ObjectsWorld {
  readonly objects: ObjectStore;
  /** A folder of this machine for files. */
  readonly files: string;
  /** Lets an object look as if it had been put two hours ago. */
  age(name: string): Promise<void>;
}

async function bytesOf(part: Readable | undefined): Promise<Buffer> {
  return part === undefined ? Buffer.alloc(0) : buffer(part);
}

async function all<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const read: T[] = [];
  for await (const value of values) read.push(value);
  return read;
}

/** The promises of the port, which every adapter keeps. */
export function objectsContract(world: () => ObjectsWorld): void {
  const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

  describe('objects', () => {
    test('any bytes are read back as they were put, whole and in part', async () => {
      const { objects } = world();
      let i = 0;
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 3_000 }), async (bytes) => {
          const name = `some/any-${i++}.bin`;
          await objects.put(name, bytes, 'keep');
          expect(Buffer.compare((await objects.get(name)) ?? Buffer.from('absent'), bytes)).toBe(0);
          expect(await objects.stat(name)).toMatchObject({ name, bytes: bytes.byteLength });
          if (bytes.byteLength < 2) return;
          const part = await objects.read(name, { from: 1, until: bytes.byteLength });
          expect(Buffer.compare(await bytesOf(part), bytes.subarray(1))).toBe(0);
        }),
        { numRuns: 15 },
      );
    });

    test('a missing object is undefined, and its removal leaves nothing to do', async () => {
      const { objects } = world();
      expect(await objects.get('none/at-all')).toBeUndefined();
      expect(await objects.stat('none/at-all')).toBeUndefined();
      expect(await objects.read('none/at-all', { from: 0, until: 1 })).toBeUndefined();
      expect(await objects.remove('none/at-all', 0)).toBe(true);
    });

    test('a put that keeps leaves what has the name, and one that replaces does not', async () => {
      const { objects } = world();
      await objects.put('names/one', HELLO, 'keep');
      await objects.put('names/one', HELLO, 'keep');
      expect(text(await objects.get('names/one'))).toBe('hello');
      await objects.put('names/one', Buffer.from('other'), 'replace');
      expect(text(await objects.get('names/one'))).toBe('other');
    });

    test('a large file is stored whole, and its parts are read', async () => {
      const { objects, files } = world();
      const bytes = Buffer.alloc(40 << 20, 7); // more than two parts of an upload
      bytes.write('end', bytes.length - 3);
      const path = join(files, 'large');
      await writeFile(path, bytes);
      await objects.putFile('large/file', path);
      expect(await objects.stat('large/file')).toMatchObject({ bytes: bytes.length });
      const part = await objects.read('large/file', { from: bytes.length - 4, until: bytes.length });
      expect((await bytesOf(part)).toString('latin1')).toBe('\x07end');
      await objects.put('large/bytes', bytes, 'keep');
      await objects.put('large/bytes', bytes, 'keep');
      const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
      expect(sha256((await objects.get('large/bytes')) ?? HELLO)).toBe(sha256(bytes));
    });

    test('the objects of a folder are listed, and those of another are not', async () => {
      const { objects } = world();
      const names = Array.from({ length: 30 }, (_, i) => `aa/b${i}/c`);
      await Promise.all(names.map((name) => objects.put(name, HELLO, 'keep')));
      await objects.put('aab/c', HELLO, 'keep');
      const listed: string[] = [];
      for await (const { name, bytes, putAt } of objects.list('aa/')) {
        expect(bytes).toBe(5);
        expect(Math.abs(Date.now() - putAt)).toBeLessThan(HOUR);
        listed.push(name);
      }
      expect(listed.sort()).toEqual(names.sort());
      expect(await all(objects.list('none/'))).toEqual([]);
    });

    test.each(['', '/etc/passwd', '../up', 'a/../b', 'a//b', 'a/', 'a b', '.hidden', 'a\n'])(
      'the name %j is refused',
      async (name) => {
        const { objects } = world();
        await expect((async () => objects.put(name, HELLO, 'keep'))()).rejects.toBeInstanceOf(RangeError);
        await expect((async () => objects.get(name))()).rejects.toBeInstanceOf(RangeError);
      },
    );
  });

  describe('removal', () => {
    test('an object goes when no process put it within the grace time, and stays when one did', async () => {
      const { objects, age } = world();
      await objects.put('old/one', HELLO, 'keep');
      expect([await objects.remove('old/one', HOUR), text(await objects.get('old/one'))]).toEqual([false, 'hello']);
      await age('old/one');
      await objects.put('old/one', HELLO, 'keep'); // counts as put now
      expect([await objects.remove('old/one', HOUR), text(await objects.get('old/one'))]).toEqual([false, 'hello']);
      await age('old/one');
      expect([await objects.remove('old/one', HOUR), await objects.get('old/one')]).toEqual([true, undefined]);
    });

    test('an object that is put while it is removed, by however many, can be read when the put returns', async () => {
      const { objects, age } = world();
      for (let round = 0; round < 12; round++) {
        const name = `race/${round}`;
        await objects.put(name, HELLO, 'keep');
        await age(name);
        const read = async () => {
          await objects.put(name, HELLO, 'keep');
          return text(await objects.get(name));
        };
        const [one, two] = await Promise.all([read(), read(), objects.remove(name, HOUR), objects.remove(name, HOUR)]);
        expect([one, two, text(await objects.get(name))]).toEqual(['hello', 'hello', 'hello']);
      }
    });
  });

  describe('blobs', () => {
    test('a blob is stored under its SHA-256 in two levels of folders, and its reference describes it', async () => {
      const { objects } = world();
      const blobs = openBlobStore(objects);
      expect(await blobs.has(HELLO_NAME)).toBe(false);
      expect(await blobs.put(HELLO, 'text/plain')).toEqual({ blob: HELLO_NAME, size: 5, mediaType: 'text/plain' });
      expect(text(await objects.get(`2c/f2/${HELLO_NAME}`))).toBe('hello');
      expect(await blobs.has(HELLO_NAME)).toBe(true);
      expect((await all(blobs.list())).map(({ name }) => name)).toEqual([HELLO_NAME]);
    });

    test('a missing blob is refused, one with changed content as well, and so is what is no SHA-256', async () => {
      const { objects } = world();
      const blobs = openBlobStore(objects);
      const name = createHash('sha256').update('missing').digest('hex');
      await expect(blobs.get(name)).rejects.toBeInstanceOf(BlobMissing);
      await blobs.put(HELLO, 'text/plain');
      await objects.put(`2c/f2/${HELLO_NAME}`, Buffer.from('jello'), 'replace');
      await expect(blobs.get(HELLO_NAME)).rejects.toBeInstanceOf(BlobCorrupt);
      for (const wrong of [
        '',
        '../../etc/passwd',
        `../${HELLO_NAME}`,
        HELLO_NAME.toUpperCase(),
        `${HELLO_NAME}/`,
        `${HELLO_NAME}\n`,
      ]) {
        await expect(blobs.get(wrong)).rejects.toBeInstanceOf(RangeError);
        await expect(blobs.has(wrong)).rejects.toBeInstanceOf(RangeError);
      }
    });

    test('values by keys are replaced, removed, and no blobs', async () => {
      const { objects } = world();
      const drawn = openKeyedStore(objects, 'segments');
      expect(await drawn.get(HELLO_NAME)).toBeUndefined();
      await drawn.put(HELLO_NAME, HELLO);
      await drawn.put(HELLO_NAME, Buffer.from('again'));
      expect(text(await drawn.get(HELLO_NAME))).toBe('again');
      expect(await all(openBlobStore(objects).list())).toEqual([]);
      await drawn.remove(HELLO_NAME);
      expect(await drawn.get(HELLO_NAME)).toBeUndefined();
    });
  });
}
