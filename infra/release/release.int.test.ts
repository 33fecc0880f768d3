import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { childEnvironment } from '../../src/runtime/config.ts';
import { readPage } from '../../src/testing/guides/pages.ts';
import { readGuide } from '../../src/testing/guides/read-guide.ts';
import { runGuide } from '../../src/testing/guides/run-guide.ts';
import { buildRelease, InstalledWheel } from './installed-wheel-testing.ts';
import { ROOT } from './pack-npm.ts';
import { thisPlatform } from './pack-wheels.ts';

const run = promisify(execFile);
const LONGEST_MS = 900_000;
const MOST_BYTES = 130e6;
let folder: string;
let built: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-release-'));
  built = await buildRelease(join(folder, 'release'));
}, LONGEST_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = async (pattern: RegExp) => join(built, (await readdir(built)).find((name) => pattern.test(name)) ?? 'missing');

test('a folder that holds anything else is refused, and left as it is', async () => {
  const kept = join(folder, 'kept');
  await mkdir(kept);
  await writeFile(join(kept, 'thesis.tex'), 'years');
  const refused = await run('npm', ['run', '-s', 'release', '--', '--out', kept], { cwd: ROOT }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('is not empty and holds no release') });
  expect(await readdir(kept)).toEqual(['thesis.tex']);
});

test('the folder holds what is published, whose sums agree, the list of its parts and their licences', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect((await readdir(built)).map((name) => name.replace(/-py3-none-(?!any).*\.whl$/, '-PLATFORM.whl')).sort()).toEqual([
    'SHA256SUMS',
    'THIRD-PARTY-LICENCES.txt',
    `espalier-${version}.cdx.json`,
    `espalier-${version}.tgz`,
    `espalier_rl-${version}-py3-none-any.whl`,
    `espalier_rl_server-${version}-PLATFORM.whl`,
  ]);
  await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: built });
  const parts = JSON.parse(await readFile(await file(/cdx/), 'utf8')) as { components: { name: string }[] };
  const names = parts.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'kysely', 'react', 'sharp', `@img/sharp-libvips-${thisPlatform()}`]));
  expect(names.filter((name) => /^(jest|typescript|vite|playwright-core)$/.test(name))).toEqual([]);
  const licences = await readFile(await file(/LICENCES/), 'utf8');
  for (const name of ['fastify', 'graphql', 'kafkajs', 'react'])
    expect(licences).toMatch(new RegExp(`^${name} \\d.*: MIT$`, 'm'));
  expect(licences).toMatch(new RegExp(`^@img/sharp-libvips-${thisPlatform()} \\d.*: LGPL-3.0-or-later$`, 'm'));
  for (const said of ['| libvips       | LGPLv3', 'GNU LESSER GENERAL PUBLIC LICENSE', 'GNU GENERAL PUBLIC LICENSE'])
    expect(licences).toContain(said);
});

test(
  'npm installs the package into an empty folder, below its bound, and its command collects a run',
  async () => {
    const empty = join(folder, 'npm');
    await mkdir(empty);
    await writeFile(join(empty, 'package.json'), '{}');
    const began = Date.now();
    await run('npm', ['install', '--no-audit', '--no-fund', await file(/\.tgz$/)], { cwd: empty });
    console.log(`npm install took ${Date.now() - began} ms`);
    const { stdout: used } = await run('du', ['-sb', 'node_modules'], { cwd: empty });
    expect(Number.parseInt(used, 10)).toBeLessThan(MOST_BYTES);
    const espalier = (...args: readonly string[]) =>
      run('npx', ['espalier', ...args], { cwd: empty, env: childEnvironment({ ESPALIER_HOME: join(empty, 'home') }) });
    const { stdout } = await espalier(
      'collect',
      '--environment',
      'textcraft',
      '--tasks',
      '1',
      '--rollouts',
      '2',
      '--max-steps',
      '2',
    );
    expect(stdout).toMatch(/ completed: 2 rollouts, 4 steps/);
    expect((await readdir(join(empty, 'node_modules'))).filter((name) => /^(jest|vite|fastify|typescript)$/.test(name))).toEqual(
      [],
    );
  },
  LONGEST_MS,
);

test(
  'pip installs client and server into an empty venv: three lines record a rollout, without Node',
  async () => {
    const place = await InstalledWheel.make({ release: built, account: 'own' });
    try {
      const at = await place.folderFor('install', 'empty');
      const own = { adapted: (text: string) => text.replace('er.serve()', 'er.serve(port=0)'), words: {} };
      await runGuide(readGuide(readPage('guides/install')), at, own);
      const text = `import espalier_rl as er
with er.serve(port=0), er.connect() as db:
    db.catch_up(60)
    print(db.query("{ runs { nodes { name totals { rollouts steps } } } }"))
`;
      expect(await runGuide([{ kind: 'python', text }], at, { ...own, adapted: (same) => same })).toEqual([
        "{'runs': {'nodes': [{'name': 'first', 'totals': {'rollouts': 1, 'steps': 1}}]}}\n",
      ]);
      expect(await at.run('espalier token')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^espalier_local_/) });
      expect(await at.run('espalier nothing')).toMatchObject({ code: 2 });
      expect(await at.run('node --version')).toMatchObject({ code: 97 });
    } finally {
      await place.remove();
    }
  },
  LONGEST_MS,
);
