import { openFolderObjects } from '../blobs/folder-objects.ts';
import type { ObjectStore } from '../blobs/object-store.ts';
import { openS3Objects } from '../blobs/s3-objects.ts';
import type { Config } from '../runtime/config.ts';
import { ensureWritable } from './ensure-writable.ts';

/** Opens the store of objects as configured, a bucket or a folder, and makes sure that it can be used. The caller closes it. */
export async function openObjects({ bucket, blobs }: Pick<Config, 'bucket' | 'blobs'>): Promise<ObjectStore> {
  if (bucket === null) {
    await ensureWritable('ESPALIER_BLOBS', blobs);
    return openFolderObjects(blobs);
  }
  const objects = await openS3Objects(bucket);
  try {
    await objects.check();
    return objects;
  } catch (error) {
    objects.close();
    throw error;
  }
}
