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

test('the newest server of an installation is the one that is written down, until it ends', async () => {
  const first = await publishUrl(home, 'http://127.0.0.1:4000');
  const second = await publishUrl(home, 'http://127.0.0.1:4001');
  await first();
  expect(await readFile(join(home, 'url'), 'utf8')).toBe('http://127.0.0.1:4001\n');
  await second();
  expect(await readdir(home)).toEqual([]);
});
