import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { helmProgram, KUBERNETES } from './tools.ts';

const run = promisify(execFile);
export const CHART = fileURLToPath(new URL('espalier', import.meta.url));
export const EXAMPLE = fileURLToPath(new URL('example-values.yaml', import.meta.url));

/** An object as an API server takes it. */
export interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Runs helm. @throws with its message where it refuses. */
export async function helm(...words: readonly string[]): Promise<string> {
  const { stdout } = await run(await helmProgram(), [...words], { maxBuffer: 1 << 26 });
  return stdout;
}

/** Returns what the chart makes of values, as text. @param flags such as `--values FILE`, `--set NAME=VALUE`. */
export function render(...flags: readonly string[]): Promise<string> {
  return helm('template', 'espalier', CHART, '--namespace', 'laboratory', '--kube-version', KUBERNETES, ...flags);
}

/** Returns the objects in a text of several documents. */
export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const manifest: Manifest | null = document.toJS();
    return manifest === null ? [] : [manifest];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(await render('--values', EXAMPLE));
