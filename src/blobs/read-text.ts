import type { BlobStore } from './blob-store.ts';

/** Returns the reader of texts that lie in a blob store, by their SHA-256. */
export function textReader(blobs: Pick<BlobStore, 'get'>): (sha256: string) => Promise<string> {
  return async (sha256) => Buffer.from(await blobs.get(sha256)).toString('utf8');
}
