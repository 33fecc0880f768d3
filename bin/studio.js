// Builds the studio once: the files that the API server sends to browsers, hashed names, compressed beforehand.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { buildPage } from './studio-page.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'studio');
const IMPORTED = ['graphql/studio', 'src/domain'].map((name) => join(ROOT, name)); // all that the studio imports of the others
const BUILT = join(ROOT, 'dist', 'studio');

/**
 * Returns the folder of the studio that is built from the sources as they are, and builds it where there is none.
 * @returns the folder; null where it cannot be built, with the reason on standard error: the server then lists its endpoints.
 */
export async function studioFolder() {
  try {
    const folder = join(BUILT, digest());
    if (!existsSync(folder)) await build(folder);
    await note(folder);
    return folder;
  } catch (error) {
    process.stderr.write(`espalier: the studio cannot be built: ${error instanceof Error ? error.message : error}\n`);
    return null;
  }
}

/** Names a build by the bytes of its sources and the libraries that are installed. */
function digest() {
  const files = [SOURCES, ...IMPORTED]
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash('sha256');
  const others = ['npm-shrinkwrap.json', 'bin/studio.js', 'bin/studio-page.js'].map((name) => join(ROOT, name));
  for (const file of [...files, ...others]) hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

async function build(folder) {
  const { build: bundle } = await import('vite');
  await mkdir(BUILT, { recursive: true });
  const target = await mkdtemp(join(BUILT, 'building-'));
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production'; // React has another build for what is not
  try {
    await bundle({
      configFile: join(SOURCES, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: target, emptyOutDir: true },
    });
    await buildPage(bundle, SOURCES, target);
    await copyFile(join(SOURCES, 'frame.html'), join(target, 'frame.html'));
    await compress(join(target, 'assets'));
    await rename(target, folder).catch((error) => {
      if (!existsSync(folder)) throw error; // another process built the same sources first
    });
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    await rm(target, { recursive: true, force: true });
  }
}

async function compress(folder) {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  for (const name of readdirSync(folder)) {
    const bytes = await readFile(join(folder, name));
    await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(bytes, quality));
    await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
  }
}

/** Notes which build is served, and removes those that a running server no longer needs. */
async function note(folder) {
  const name = folder.slice(BUILT.length + 1);
  const file = join(BUILT, `current.${process.pid}`);
  await writeFile(file, `${name}\n`);
  await rename(file, join(BUILT, 'current'));
  for (const other of readdirSync(BUILT)) {
    const old = Date.now() - statSync(join(BUILT, other)).mtimeMs > 7 * 24 * 60 * 60 * 1_000;
    if (old && other !== name && other !== 'current') await rm(join(BUILT, other), { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = await studioFolder();
  if (folder === null) process.exitCode = 1;
  else process.stdout.write(`${folder}\n`);
}
