import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Names the folder of the bundled programs to the processes that a test run starts. */
const BUNDLED = 'ESPALIER_BUNDLED_PROGRAMS';

/**
 * Bundles the command line and the workers once for a run that starts them many times: a start costs 0.4 s of one core instead of 1.1–1.4 s
 * through tsx, which translates and resolves 400 files in each. Gives what removes the bundles again.
 */
export async function bundlePrograms(): Promise<() => Promise<void>> {
  const cache = join(ROOT, 'node_modules', '.cache'); // packages are found from there
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'espalier-programs-'));
  const workers = readdirSync(join(ROOT, 'workers')).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const built = await build({
    ...{ absWorkingDir: ROOT, entryPoints: ['src/cli/main.ts', ...workers.map((file) => `workers/${file}`)], outdir: folder },
    ...{ bundle: true, splitting: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20' },
    ...{ outExtension: { '.js': '.mjs' }, outbase: ROOT, sourcemap: true, logLevel: 'silent' },
    plugins: [{ name: 'places', setup: (bundler) => bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => keepPlace(path)) }],
  }).catch((error: unknown) => error);
  // A file that is broken fails the tests that need it, not those of every program.
  if (built instanceof Error) process.stderr.write(`programs start from their sources: ${built.message}\n`);
  else process.env[BUNDLED] = folder;
  return remove;
}

/** A file that looks for others beside it finds them where it was, not beside the bundle. */
async function keepPlace(path: string): Promise<{ contents: string; loader: 'ts' }> {
  const source = await readFile(path, 'utf8');
  return { contents: source.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' };
}

/** Gives the arguments that make node run a program: its bundle where there is one, else its source by tsx. */
export function nodeArguments(script: string): readonly string[] {
  const folder = process.env[BUNDLED];
  const bundle = folder === undefined ? undefined : join(folder, script.replace(/\.ts$/, '.mjs'));
  return bundle !== undefined && existsSync(bundle) ? ['--enable-source-maps', bundle] : ['--import', 'tsx', join(ROOT, script)];
}
