import type { CacheCounters } from '../images/segment-cache.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** Adds what a segment cache did and holds to the measurements of its process; they are read at each scrape. */
export function addSegmentCacheGauges(metrics: Metrics, cache: { readonly counters: CacheCounters }): void {
  metrics.gauge('segment_cache_lookups', 'Segments asked of the cache since the start of the process', ['outcome'], async () => {
    const { hits, storeHits, misses } = cache.counters;
    return Object.entries({ hit: hits, store: storeHits, miss: misses }).map(([outcome, value]) => ({
      labels: { outcome },
      value,
    }));
  });
  const single = (name: string, help: string, of: keyof CacheCounters) =>
    metrics.gauge(name, help, [], async () => [{ labels: {}, value: cache.counters[of] }]);
  single('segment_cache_evictions', 'Segments that the cache dropped since the start of the process', 'evictions');
  single('segment_cache_damaged', 'Stored segments whose bytes were not those that were written', 'damaged');
  single('segment_cache_segments', 'Segments that the cache holds', 'segments');
  single('segment_cache_bytes', 'Bytes that the cache holds', 'bytes');
}
