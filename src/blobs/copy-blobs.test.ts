import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openBlobStore } from './blob-store.ts';
import { copyBlobs } from './copy-blobs.ts';
import { openFolderObjects } from './folder-objects.ts';
import type { ObjectStore } from './object-store.ts';

let folder: string;
let from: ObjectStore;
let to: ObjectStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-copied-'));
  [from, to] = [openFolderObjects(join(folder, 'from')), openFolderObjects(join(folder, 'to'))];
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
const putAll = (count: number) =>
  Promise.all(
    Array.from({ length: count }, async (_, i) => (await openBlobStore(from).put(Buffer.from(`blob ${i}`), 'text/plain')).blob),
  );

test('a copy that is stopped goes on when it is made again, and the target holds every blob', async () => {
  const names = await putAll(300);
  const stop = new AbortController();
  const stopped = copyBlobs(from, to, {
    signal: stop.signal,
    onProgress: ({ copied }) => copied === 100 && stop.abort(),
  });
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
  const done = await copyBlobs(from, to, { signal: never, onProgress: () => undefined });
  expect(done).toMatchObject({ blobs: 300, damaged: [] });
  expect([done.present + done.copied, done.present >= 100, done.copied > 0]).toEqual([300, true, true]);
  for (const [i, name] of names.entries()) expect(Buffer.from(await openBlobStore(to).get(name)).toString()).toBe(`blob ${i}`);
  expect(await copyBlobs(from, to, { signal: never, onProgress: () => undefined })).toMatchObject({ present: 300, copied: 0 });
});

test('a blob whose content is another than its name says is named and not copied', async () => {
  const [first = '', second = ''] = await putAll(2);
  const place = (name: string) => `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`;
  await from.put(place(first), Buffer.from('other'), 'replace');
  const done = await copyBlobs(from, to, { signal: never, onProgress: () => undefined });
  expect(done).toMatchObject({ blobs: 2, copied: 1, damaged: [first] });
  expect(await openBlobStore(to).has(first)).toBe(false);
  expect(await openBlobStore(to).has(second)).toBe(true);
});
