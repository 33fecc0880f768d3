import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFolder } from '../../bin/bundle.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Names the folder of the compiled programs to the processes that a test run starts. */
const BUNDLED = 'ESPALIER_BUNDLED_PROGRAMS';

/**
 * Compiles the command line and the workers for a run that starts them many times, as an installation does. The folder is fixed
 * for the whole run, so that a source that is edited meanwhile does not change what its later tests start.
 */
export async function bundlePrograms(): Promise<void> {
  const folder = await bundleFolder();
  if (folder !== null) process.env[BUNDLED] = folder;
}

/** Returns the arguments that make node run a program: its bundle where there is one, else its source by tsx. */
export function nodeArguments(script: string): readonly string[] {
  const folder = process.env[BUNDLED];
  const bundle = folder === undefined ? undefined : join(folder, script.replaceAll('/', '.').replace(/\.ts$/, '.mjs'));
  return bundle !== undefined && existsSync(bundle) ? ['--enable-source-maps', bundle] : ['--import', 'tsx', join(ROOT, script)];
}
