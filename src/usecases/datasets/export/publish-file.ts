import { mkdir, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AtomicFile, cannotWrite, type Existing, refuseExisting } from './atomic-file.ts';
import { manifestPath } from './manifest.ts';

/**
 * Publishes a sealed file and its manifest: the data first, then its manifest; a manifest that belongs to the file replaced
 * goes before.
 */
export async function publishWithManifest(file: AtomicFile, manifest: string, existing: Existing): Promise<void> {
  const path = manifestPath(file.path);
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true }).catch((cause) => {
    throw cannotWrite(path, cause);
  });
  const manifestFile = await AtomicFile.open(path, existing);
  try {
    await manifestFile.write(manifest);
    await manifestFile.seal();
    if (existing === 'refuse') await refuseExisting(file.path);
    await rm(path, { force: true });
    await file.publish();
    await manifestFile.publish();
  } finally {
    await manifestFile.discard();
    if (made !== undefined) await rmdir(folder).catch(() => undefined); // of an export that ended here: it is empty
  }
}

/** @throws DatasetError `file-exists` when a manifest of the name is there. */
export async function refuseManifest(out: string): Promise<void> {
  await refuseExisting(manifestPath(out));
}
