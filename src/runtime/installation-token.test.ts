import { chmod, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { installationToken, renewInstallationToken, tokenFile } from './installation-token.ts';

let root: string;
let count = 0;
const home = () => join(root, `home ${count++}`);
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'espalier-token-'));
});
afterAll(() => rm(root, { recursive: true }));

test('many who need the token at once get the same one, in a file and a folder that only their account reads', async () => {
  const folder = home();
  const tokens = await Promise.all(Array.from({ length: 20 }, () => installationToken(folder)));
  expect(new Set(tokens).size).toBe(1);
  expect(tokens[0]).toMatch(/^espalier_local_[\w-]{43}$/);
  expect([(await stat(folder)).mode & 0o777, (await stat(tokenFile(folder))).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(await readdir(folder)).toEqual(['token']);
  expect(await installationToken(folder)).toBe(tokens[0]);
});

test('two installations have different tokens, and a renewed one is another', async () => {
  const [one, two] = [home(), home()];
  const first = await installationToken(one);
  expect(await installationToken(two)).not.toBe(first);
  const renewed = await renewInstallationToken(one);
  expect(renewed).not.toBe(first);
  expect([await installationToken(one), await readdir(one)]).toEqual([renewed, ['token']]);
});

test('a token that others may have read or chosen is refused with the remedy', async () => {
  const open = home();
  await installationToken(open);
  await chmod(tokenFile(open), 0o640);
  await expect(installationToken(open)).rejects.toThrow(
    /can be read by other accounts; run `chmod 600 .*`, and `espalier token --renew`/,
  );
  await renewInstallationToken(open);
  expect(await installationToken(open)).toMatch(/^espalier_local_/);

  const [linked, own] = [home(), home()];
  await installationToken(own);
  await installationToken(linked);
  await rm(tokenFile(linked));
  await symlink(tokenFile(own), tokenFile(linked));
  await expect(installationToken(linked)).rejects.toThrow(/is a link; remove it/);

  const broken = home();
  await installationToken(broken);
  await writeFile(tokenFile(broken), 'guess me');
  await expect(installationToken(broken)).rejects.toThrow(/holds no token; remove it/);
});
