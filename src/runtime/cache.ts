import { LRUCache } from 'lru-cache';

/** A map that forgets what was used least recently, or is too old. */
export type Cache<Value extends object | string> = LRUCache<string, Value>;

/**
 * Opens a cache that is bounded as the options name: `max` entries, or `maxSize` with a size for every entry, and `ttl` in ms. A
 * cache of this kind pays some 100 ns for every hit; what is drawn a thousand times for a picture keeps a map of its own.
 */
export function openCache<Value extends object | string>(options: LRUCache.Options<string, Value, unknown>): Cache<Value> {
  return new LRUCache(options);
}
