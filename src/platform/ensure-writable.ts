import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { makeFolder } from '../runtime/make-folder.ts';

/** A folder of the configuration cannot be used. */
export class FolderUnusable extends Error {
  override readonly name = 'FolderUnusable';
  constructor(variable: 'ESPALIER_HOME' | 'ESPALIER_BLOBS', folder: string, cause: unknown) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    super(`cannot write to ${folder} (${why}); make it writable, or set ${variable} to a folder that is`, { cause });
  }
}

// Of root the embedded server runs under another account, which has to get through to its own folder.
const MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

/** Makes a folder of the configuration where it is missing. @throws FolderUnusable. */
export async function ensureWritable(variable: 'ESPALIER_HOME' | 'ESPALIER_BLOBS', folder: string): Promise<void> {
  try {
    await makeFolder(folder, MODE);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new FolderUnusable(variable, folder, error);
  }
}
