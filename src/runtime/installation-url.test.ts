import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publishUrl } from './installation-url.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-url-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

test('each server of an installation is written down until it ends, the newest last', async () => {
  const first = await publishUrl(home, 'http://127.0.0.1:4000');
  const second = await publishUrl(home, 'http://127.0.0.1:4001');
  const third = await publishUrl(home, 'http://127.0.0.1:4002');
  expect(await readFile(join(home, 'url'), 'utf8')).toBe('http://127.0.0.1:4000\nhttp://127.0.0.1:4001\nhttp://127.0.0.1:4002\n');
  await third();
  await first();
  expect(await readFile(join(home, 'url'), 'utf8')).toBe('http://127.0.0.1:4001\n');
  const again = await publishUrl(home, 'http://127.0.0.1:4001'); // one that was killed wrote it before
  await second();
  await again();
  expect(await readdir(home)).toEqual([]);
});

test('a home that nobody can make is refused, and not waited for', async () => {
  await expect(publishUrl('/proc/espalier', 'http://127.0.0.1:4000')).rejects.toMatchObject({ code: 'ENOENT' });
});
