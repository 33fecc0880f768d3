import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { sha256Hex, sha256OfFile } from '../../digest/sha256.ts';
import { makeFolder } from '../../platform/make-folder.ts';
import { RunRefused } from '../collect/hold-run.ts';

const known = z.record(z.string(), z.strictObject({ size: z.number(), changed: z.number(), sha256: z.string() }));

/**
 * Returns the digest of a file, or of what a folder holds: the names of its files, however deep they lie, and their contents. A
 * model has gigabytes: the digest of a file is kept, and the file read again when its size or the time of its last change
 * differs. @param kept the file that the digests are kept in. @throws RunRefused where it cannot be read.
 */
export async function digestOfContent(path: string, kept: string): Promise<string> {
  const digests = await readKept(kept);
  const lines: string[] = [];
  let read = false;
  for (const file of await filesOf(path)) {
    const { size, mtimeMs: changed } = await stat(file);
    const before = digests[file];
    const same = before?.size === size && before.changed === changed;
    const sha256 = same ? before.sha256 : await sha256OfFile(file);
    if (!same) {
      digests[file] = { size, changed, sha256 };
      read = true;
    }
    lines.push(`${sha256} ${relative(path, file)}`);
  }
  if (read) await keep(kept, digests);
  return sha256Hex(lines.join('\n'));
}

/**
 * A file, or the files below a folder, in the order of their names. Links are followed, as transformers follows those of its
 * cache.
 */
async function filesOf(folder: string): Promise<readonly string[]> {
  const unreadable = (cause: NodeJS.ErrnoException) => {
    throw new RunRefused(`${folder} cannot be read (${cause.code}); name a file or folder that is there`);
  };
  if ((await stat(folder).catch(unreadable)).isFile()) return [folder];
  const names = await readdir(folder, { recursive: true }).catch(unreadable);
  const files: string[] = [];
  for (const name of names.sort()) if ((await stat(join(folder, name))).isFile()) files.push(join(folder, name));
  return files;
}

/** What is kept; nothing where it is damaged. */
async function readKept(file: string): Promise<z.output<typeof known>> {
  try {
    return known.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return {};
  }
}

async function keep(file: string, digests: z.output<typeof known>): Promise<void> {
  await makeFolder(dirname(file));
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, JSON.stringify(digests));
  await rename(draft, file);
}
