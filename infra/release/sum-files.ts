import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256OfFile } from '../../src/digest/sha256.ts';

/** Writes SHA256SUMS of a folder's files, as `sha256sum --check` reads it. @returns a line per file with its size, for people. */
export async function sumFiles(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  const sums = await Promise.all(names.map(async (name) => `${await sha256OfFile(join(folder, name))}  ${name}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return names.map((name, at) => `${join(folder, name)}  ${((sizes[at] ?? 0) / 1e6).toFixed(1)} MB\n`).join('');
}
