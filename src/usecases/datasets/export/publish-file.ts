import { rm } from 'node:fs/promises';
import { AtomicFile, type Existing, refuseExisting } from './atomic-file.ts';
import { manifestPath } from './manifest.ts';

/**
 * Publishes a sealed file and its manifest: the data first, then its manifest; a manifest that belongs to the file replaced goes
 * before.
 */
export async function publishWithManifest(file: AtomicFile, manifest: string, existing: Existing): Promise<void> {
  const manifestFile = await AtomicFile.open(manifestPath(file.path), existing);
  try {
    await manifestFile.write(manifest);
    await manifestFile.seal();
    if (existing === 'refuse') await refuseExisting(file.path);
    await rm(manifestPath(file.path), { force: true });
    await file.publish();
    await manifestFile.publish();
  } finally {
    await manifestFile.discard();
  }
}
