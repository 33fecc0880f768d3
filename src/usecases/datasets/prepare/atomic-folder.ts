import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import type { Existing } from '../export/atomic-file.ts';
import { removeAbandoned, syncFolder } from '../export/atomic-file.ts';

/**
 * Fills a folder that appears under its name whole or not at all: it is filled under a hidden name next to it, made durable, and
 * renamed. `replace` takes the place of a folder made so before, known by the text `mark` at the beginning of its
 * manifest, and of no other.
 * @throws DatasetError `file-exists` | `cannot-write`; the folder is then absent or as it was before.
 */
export async function fillFolder<T>(
  out: string,
  {
    existing,
    mark,
    manifest = 'manifest.json',
  }: { readonly existing: Existing; readonly mark: string; readonly manifest?: string },
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const path = resolve(out);
  const stateNow = () => stateOf(path, { mark, manifest });
  const before = await stateNow();
  if (before === 'other' || (before === 'ours' && existing === 'refuse')) throw isThere(out, before);
  await removeAbandoned(path);
  const partial = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.partial`);
  try {
    await mkdir(partial);
    const result = await fill(partial);
    await syncFolder(partial);
    if ((await stateNow()) !== before) throw isThere(out, 'other');
    await takePlace(partial, path, before);
    await syncFolder(dirname(path));
    return result;
  } catch (cause) {
    if (codeOf(cause) in REMEDIES)
      throw new DatasetError('cannot-write', `cannot write ${out}: ${REMEDIES[codeOf(cause)] ?? reasonOf(cause)}`, { cause });
    throw cause;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/**
 * Nothing renames onto a folder with files in it: an earlier one is moved aside (`….before`) between two renames, and comes back
 * if the second fails.
 */
async function takePlace(partial: string, path: string, before: 'none' | 'ours'): Promise<void> {
  if (before === 'none') return rename(partial, path);
  const aside = `${partial}.before`;
  await rename(path, aside);
  try {
    await rename(partial, path);
  } catch (cause) {
    await rename(aside, path);
    throw cause;
  }
  await rm(aside, { recursive: true });
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: 'the folder that is to hold it does not exist; create it first',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EACCES: 'the folder may not be written to; choose another one or change its permissions',
  EROFS: 'the file system is read-only; choose another folder',
  ENOSPC: 'the disk is full; free some space or choose another disk',
};

async function stateOf(
  path: string,
  { mark, manifest: name }: { readonly mark: string; readonly manifest: string },
): Promise<'none' | 'ours' | 'other'> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined) return 'none';
  if (!there.isDirectory()) return 'other';
  if ((await readdir(path)).length === 0) return 'none';
  const manifest = await readFile(join(path, name), 'utf8').catch(() => '');
  return manifest.replace(/\s/g, '').startsWith(mark) ? 'ours' : 'other';
}

function isThere(out: string, state: 'ours' | 'other'): DatasetError {
  const remedy =
    state === 'ours' ? 'choose another name, or replace it with --force' : 'it was not made by this command; choose another name';
  return new DatasetError('file-exists', `${out} is already there; ${remedy}`);
}
