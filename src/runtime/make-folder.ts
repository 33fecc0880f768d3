import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it; one that is there is fine. Not by `recursive: true`, which never returns where a file system
 * denies by ENOENT (/proc): it takes that to mean that the folder above is missing, for ever. @param mode of the folder itself.
 * Returns the outermost folder that it made, undefined where all were there. @throws what node:fs throws.
 */
export async function makeFolder(folder: string, mode?: number): Promise<string | undefined> {
  try {
    return await makeOne(folder, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    const above = await makeFolder(dirname(folder));
    const own = await makeOne(folder, mode);
    return above ?? own;
  }
}

async function makeOne(folder: string, mode: number | undefined): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode });
    return folder;
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(folder)).isDirectory()) return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
