import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { writePack } from './release-pack.ts';

/**
 * Compiles a commit of this repository into the pack that tests of upgrades start as the release before:
 * `npx tsx src/testing/previous-release/make-pack.ts COMMIT`, where the checkout has the commit. Packages are not in it: they
 * are found in the checkout that unpacks it. The file it writes replaces the one before; `start-release.ts` finds it by itself.
 */
const FIXTURES = new URL('./fixtures/', import.meta.url);
/** What the programs read besides their code; Python, the documentation and tests are left out. */
const READ =
  /^(package\.json|migrations\/.*\.sql|src\/projections\/[^/]+\/tables\.sql|graphql\/(schema|operations)\/.*|src\/images\/atlas\/.*\.br|src\/environments\/textcraft\/recipes\/.*)$/;

/** Starts a program of the pack: `node bin/run.js workers/project.ts [ARG …]`, as in the repository. */
const RUN = `import { fileURLToPath, pathToFileURL } from 'node:url';
const root = new URL('../', import.meta.url);
globalThis.releaseRoot = root.href;
process.env.NODE_ENV ??= 'production';
const [script] = process.argv.splice(2, 1);
process.argv[1] = fileURLToPath(new URL(script, root));
await import(new URL('dist/' + script.replace(/\\.ts$/, '.mjs'), root).href);
`;

const commit = process.argv[2] ?? '';
const folder = await mkdtemp(join(tmpdir(), 'espalier-release-'));
try {
  const name = execFileSync('git', ['rev-parse', '--short=7', `${commit}^{commit}`], { encoding: 'utf8' }).trim();
  const archive = execFileSync('git', ['archive', '--format=tar', name], { maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const files: Record<string, { text: string } | { base64: string }> = { 'bin/run.js': { text: RUN } };
  for (const [path, text] of await compile(folder)) files[path] = { text };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (!entry.isFile() || !READ.test(path)) continue;
    const bytes = await readFile(join(folder, path));
    files[path] = path.endsWith('.br') ? { base64: bytes.toString('base64') } : { text: bytes.toString() };
  }
  for (const old of await readdir(FIXTURES).catch(() => [])) await rm(new URL(old, FIXTURES));
  const bytes = await writePack(new URL(`${name}.json.br`, FIXTURES), { commit: name, files });
  process.stdout.write(`${name}: ${Object.keys(files).length} files, ${bytes} bytes\n`);
} finally {
  await rm(folder, { recursive: true });
}

/** Compiles the command line and the workers. Code that looks for files next to its source finds them below `releaseRoot`. */
async function compile(root: string): Promise<readonly (readonly [string, string])[]> {
  const workers = (await readdir(join(root, 'workers'))).filter(
    (file) => file.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(file),
  );
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/cli/main.ts', ...workers.map((file) => `workers/${file}`)],
    outbase: root,
    outdir: join(root, 'dist'),
    bundle: true,
    splitting: true,
    minify: true,
    legalComments: 'none',
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    write: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'places',
        setup: (bundler) =>
          bundler.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const place = `(globalThis.releaseRoot+${JSON.stringify(relative(root, path))})`;
            return { contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', place), loader: 'ts' };
          }),
      },
    ],
  });
  return outputFiles.map(({ path, text }) => [relative(root, path), text] as const);
}
