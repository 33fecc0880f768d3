import { readFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What starts a program of a test in a process of its own. */
export interface CompiledProgram {
  /** Those of node; what follows them is in `process.argv` from its second place on. */
  readonly args: readonly string[];
  /** Where node must start, to find libraries. */
  readonly cwd: string;
}

/**
 * Compiles the text of a program, which imports sources by their absolute paths. A process that translates them itself takes a
 * second of CPU longer to start.
 */
export async function compileProgram(text: string): Promise<CompiledProgram> {
  const { outputFiles } = await build({
    stdin: { contents: text, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    write: false,
    minify: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [{ name: 'places', setup: (bundler) => bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => load(path)) }],
  });
  return { args: ['--input-type=module', '-e', outputFiles[0]?.text ?? ''], cwd: ROOT };
}

/** A file that looks for others next to it finds them where its source is. */
async function load(path: string) {
  const text = await readFile(path, 'utf8');
  return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' as const };
}
