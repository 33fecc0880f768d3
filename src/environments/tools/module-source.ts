import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { build } from 'esbuild';
import { sha256Hex } from '../../digest/sha256.ts';

/**
 * Returns the SHA-256 of a module: of its file, or where it imports files of its own by relative paths, of all of them. Packages
 * that it imports are not part of it.
 */
export async function hashModule(file: string): Promise<string> {
  const own = await readFile(file);
  const others = (await importedFiles(file)).filter((each) => each !== file);
  return others.length === 0 ? sha256Hex(own) : hashFiles(dirname(file), [file, ...others]);
}

/** Returns the SHA-256 of all files of an installed package; those of packages inside it are not part of it. */
export async function hashPackage(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return hashFiles(
    folder,
    files.filter((file) => !relative(folder, file).split(sep).includes('node_modules')),
  );
}

/** Returns the folder where a package is installed for programs of the working folder, or null. */
export function packageFolder(name: string): string | null {
  const [scope = '', rest] = name.split('/');
  const bare = scope.startsWith('@') ? `${scope}/${rest}` : scope;
  for (let folder = resolve('.'); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', bare);
    if (existsSync(join(found, 'package.json'))) return found;
    if (folder === dirname(folder)) return null;
  }
}

async function hashFiles(folder: string, files: readonly string[]): Promise<string> {
  const named = files.map((file) => ({ name: relative(folder, file).split(sep).join('/'), file }));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  const hashes = await Promise.all(named.map(async ({ name, file }) => [name, sha256Hex(await readFile(file))]));
  return sha256Hex(JSON.stringify(hashes));
}

async function importedFiles(file: string): Promise<readonly string[]> {
  try {
    const { metafile } = await build({
      entryPoints: [file],
      absWorkingDir: dirname(file),
      bundle: true,
      write: false,
      metafile: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    return Object.keys(metafile.inputs).map((input) => resolve(dirname(file), input));
  } catch {
    return []; // a module that esbuild cannot read is refused, with the reason, where it is imported
  }
}
