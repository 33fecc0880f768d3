import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { RunRefused } from '../collect/hold-run.ts';

/**
 * Returns the digest of a file, or of what a folder holds: the names of its files at any depth, and their contents. Links are
 * followed, as transformers follows those of its cache. @throws RunRefused if it cannot be read.
 */
export async function digestOfContent(path: string): Promise<string> {
  try {
    const names = (await stat(path)).isFile() ? [''] : (await readdir(path, { recursive: true })).sort();
    const lines: string[] = [];
    for (const file of names.map((name) => join(path, name)))
      if ((await stat(file)).isFile()) lines.push(`${await sha256OfFile(file)} ${relative(path, file)}`);
    return sha256Hex(lines.join('\n'));
  } catch (cause) {
    throw new RunRefused(`${path} cannot be read (${(cause as NodeJS.ErrnoException).code}); name an existing file or folder`);
  }
}
