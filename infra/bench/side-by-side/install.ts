import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LONGEST_MS = 1_800_000; // most of a gigabyte each
const BYTES = 2 ** 24;

/** Where the Python of some packages is, whether or not it is there: a folder of the cache for each set of them. */
export function pythonFolder(packages: readonly string[]): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const name = createHash('sha256').update(packages.join('\n')).digest('hex').slice(0, 12);
  return join(cache, 'espalier', `side-by-side-${name}`);
}

/** Returns the interpreter that has the packages; null where they were never installed. */
export function installedPython(packages: readonly string[]): string | null {
  const folder = pythonFolder(packages);
  return existsSync(join(folder, 'complete')) ? join(folder, 'bin', 'python') : null;
}

/** Installs packages from PyPI into a Python of their own, where they are not yet. @throws Error with what pip said. */
export async function installPython(packages: readonly string[]): Promise<string> {
  const there = installedPython(packages);
  if (there !== null) return there;
  const folder = pythonFolder(packages);
  await run('python3', ['-m', 'venv', '--clear', folder]);
  const python = join(folder, 'bin', 'python');
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages], {
    timeout: LONGEST_MS,
    maxBuffer: BYTES,
  });
  await writeFile(join(folder, 'complete'), packages.join('\n'));
  return python;
}
