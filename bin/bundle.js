// Compiles the command line and the workers once, so that a start loads a few JavaScript files in place of translating about 900
// TypeScript files. Plain JavaScript: Node 20 does not run TypeScript by itself.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dist');
/** Names the bundle that was built last and the sources it was built from. */
const CURRENT = join(DIST, 'current.json');
/** A process loads parts of its bundle when it first needs them, so replaced bundles stay for a while. */
const KEEP_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Returns the folder of compiled programs that are up to date with the sources, and compiles them where there is none.
 * A folder is named by its sources and never changed: a running process keeps the one it started with.
 * @returns the folder, or null where nothing can be compiled (read-only installation, broken source): the caller runs the sources
 * by tsx.
 */
export async function bundleFolder() {
  const current = readCurrent();
  if (current !== null) return current;
  try {
    return await build();
  } catch (error) {
    process.stderr.write(
      `espalier: starts from its sources, which takes longer: ${error instanceof Error ? error.message : error}\n`,
    );
    return null;
  }
}

/** Returns the folder of the last build when no source has changed since, by size and time: 900 `stat` calls take 5 ms. */
function readCurrent() {
  try {
    const { folder, inputs } = JSON.parse(readFileSync(CURRENT, 'utf8'));
    if (!existsSync(join(DIST, folder))) return null;
    const same = inputs.every(([file, size, time]) => {
      const now = statSync(join(ROOT, file));
      return now.size === size && now.mtimeMs === time;
    });
    return same ? join(DIST, folder) : null;
  } catch {
    return null; // no build yet, a source that is gone, or a damaged file: build
  }
}

/**
 * Compiles the command line and the workers into a folder two levels below the root of what it runs in (`dist/FOLDER`).
 * @param {string} target the folder
 * @param {object} libraries where the libraries come from: `packages: 'external'` leaves them where they are installed
 * @returns the metafile of esbuild, and size and time of each source by its path
 */
export async function compile(target, libraries) {
  const { build: bundle } = await import('esbuild');
  const workers = readdirSync(join(ROOT, 'workers')).filter((file) => /^\w+\.ts$/.test(file));
  const programs = ['src/cli/main.ts', ...workers.map((file) => `workers/${file}`)];
  const seen = new Map();
  const { metafile } = await bundle({
    absWorkingDir: ROOT,
    entryPoints: programs.map((file) => ({ in: file, out: file.replaceAll('/', '.').replace(/\.ts$/, '') })),
    outdir: target, // no folders in it: see `load`
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    metafile: true,
    logLevel: 'silent',
    plugins: [{ name: 'places', setup: (bundler) => bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => load(path, seen)) }],
    ...libraries,
  });
  return { metafile, seen };
}

async function build() {
  await mkdir(DIST, { recursive: true });
  const target = await mkdtemp(join(DIST, 'building-'));
  try {
    const { metafile, seen } = await compile(target, { packages: 'external', sourcemap: true, sourcesContent: false });
    const inputs = Object.keys(metafile.inputs).map((file) => [
      file,
      ...(seen.get(join(ROOT, file)) ?? sizeAndTime(join(ROOT, file))),
    ]);
    const folder = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 16);
    await rename(target, join(DIST, folder)).catch((error) => {
      if (!existsSync(join(DIST, folder))) throw error; // another process built the same sources first
    });
    const note = `${CURRENT}.${process.pid}`;
    writeFileSync(note, JSON.stringify({ folder, inputs }));
    renameSync(note, CURRENT);
    removeOld(folder);
    return join(DIST, folder);
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}

/** Reads a source. Its size and time are taken before its text: a change in between makes the bundle stale, never wrong. */
async function load(path, seen) {
  seen.set(path, sizeAndTime(path));
  const source = await readFile(path, 'utf8');
  // A file that looks for others next to it finds them where its source is, seen from dist/FOLDER.
  const place = `new URL(${JSON.stringify(`../../${relative(ROOT, path)}`)}, import.meta.url).href`;
  return { contents: source.replaceAll('import.meta.url', place), loader: 'ts' };
}

function sizeAndTime(path) {
  const { size, mtimeMs } = statSync(path);
  return [size, mtimeMs];
}

function removeOld(current) {
  for (const name of readdirSync(DIST)) {
    if (name === current || !/^[0-9a-f]{16}$|^building-/.test(name)) continue;
    if (Date.now() - statSync(join(DIST, name)).mtimeMs > KEEP_MS) rmSync(join(DIST, name), { recursive: true, force: true });
  }
}
