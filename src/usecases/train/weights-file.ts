import { randomBytes } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../digest/sha256.ts';
import { encodeWeights, type LinearWeights } from '../../policies/linear/weights.ts';
import { makeFolder } from '../../runtime/make-folder.ts';

export interface WeightsFile {
  readonly path: string;
  /** SHA-256 of the file, in hex: the identity of the checkpoint, and the file's name. */
  readonly digest: string;
}

/**
 * Writes weights into a folder under their digest, whole or not at all: who is killed leaves no file of that name that is cut.
 */
export async function writeWeights(folder: string, weights: LinearWeights): Promise<WeightsFile> {
  await makeFolder(folder);
  const bytes = encodeWeights(weights);
  const digest = sha256Hex(bytes);
  const path = join(folder, `${digest}.espw`);
  const partial = join(folder, `.${digest}.${randomBytes(4).toString('hex')}.partial`);
  const file = await open(partial, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  return { path, digest };
}
