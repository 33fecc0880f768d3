import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { childEnvironment } from '../../src/runtime/config.ts';
import { freePort } from '../../src/runtime/free-port.ts';
import { ROOT } from './pack-npm.ts';
import { thisPlatform } from './pack-wheels.ts';

const run = promisify(execFile);
const LONGEST_MS = 900_000;
const MOST_BYTES = 130e6;
let folder: string;
let built: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-release-'));
  built = join(folder, 'release');
  await run('npm', ['run', '-s', 'release', '--', '--out', built], { cwd: ROOT, maxBuffer: 1 << 26 });
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
    await run('npm', ['install', '--no-audit', '--no-fund', await file(/\.tgz$/)], { cwd: empty });
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
  'pip installs client and server into an empty venv: three lines record a rollout, without the Node of the machine',
  async () => {
    const empty = join(folder, 'pip');
    const venv = join(empty, 'venv');
    await run('python3', ['-m', 'venv', venv]);
    const python = join(venv, 'bin/python');
    const install = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--find-links',
      built,
      'espalier-rl[server]',
    ];
    await run(python, install, { timeout: LONGEST_MS });
    const decoys = join(empty, 'decoys');
    await mkdir(decoys);
    for (const name of ['node', 'npx', 'espalier']) {
      await writeFile(join(decoys, name), '#!/bin/sh\necho the one of the machine >&2\nexit 97\n');
      await chmod(join(decoys, name), 0o755);
    }
    const env = childEnvironment({ PATH: `${decoys}:${process.env.PATH}`, ESPALIER_HOME: join(empty, 'home'), PYTHONPATH: '' });
    const guide = await readFile(join(ROOT, 'docs/guides/install.md'), 'utf8');
    const [, lines = ''] = /^```python\n([\s\S]*?)^```$/m.exec(guide) ?? [];
    const port = `er.serve(port=${await freePort()})`;
    const asked = `with ${port}, er.connect() as db:
    db.catch_up(60)
    print(db.query("{ runs { nodes { name totals { rollouts steps } } } }"))
`;
    await writeFile(join(empty, 'program.py'), `${lines.replace('er.serve()', port)}${asked}`);
    const { stdout } = await run(python, ['program.py'], { cwd: empty, env, timeout: LONGEST_MS });
    expect(stdout).toContain("{'runs': {'nodes': [{'name': 'first', 'totals': {'rollouts': 1, 'steps': 1}}]}}");
    const command = await run(join(venv, 'bin/espalier'), ['token'], { cwd: empty, env, timeout: LONGEST_MS });
    expect(command.stdout).toMatch(/^espalier_local_/);
    const wrong = await run(join(venv, 'bin/espalier'), ['nothing'], { cwd: empty, env }).catch((error: unknown) => error);
    expect(wrong).toMatchObject({ code: 2 });
  },
  LONGEST_MS,
);
