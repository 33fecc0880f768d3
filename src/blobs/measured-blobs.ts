import type { Metrics } from '../runtime/metrics.ts';
import type { BlobStore } from './blob-store.ts';

/** Counts what a store is asked and what of it failed. */
export function measuredBlobs(blobs: BlobStore, metrics: Metrics): BlobStore {
  const asked = metrics.counter('blob_operations_total', 'Operations on the blob store', ['operation']);
  const failures = metrics.counter('blob_failures_total', 'Operations on the blob store that failed', ['operation']);
  const counted = async <T>(operation: 'put' | 'get' | 'has', work: Promise<T>): Promise<T> => {
    asked.add(1, { operation });
    return work.catch((error: unknown) => {
      failures.add(1, { operation });
      throw error;
    });
  };
  return {
    put: (bytes, mediaType) => counted('put', blobs.put(bytes, mediaType)),
    get: (sha256) => counted('get', blobs.get(sha256)),
    has: (sha256) => counted('has', blobs.has(sha256)),
  };
}
