import type { Db } from '../postgres/database.ts';
import { type ApiKey, hashOf, verifyKey } from '../postgres/keys.ts';
import { openCache } from '../runtime/cache.ts';

const LIFE_MS = 5_000; // how long a revoked key may still work; one look-up per key and five seconds is nothing to the database
const SIZE = 1_000;

/** Verifies keys with a small memory of those found good. Wrong ones are not remembered: their number has no bound. */
export function createKeyCache(
  db: Db,
  clock: () => number,
  lifeMs = LIFE_MS,
): (presented: string) => Promise<ApiKey | undefined> {
  const now = (): number => clock() + 1; // a time of 0 is none to the cache
  const good = openCache<ApiKey>({ max: SIZE, ttl: lifeMs, perf: { now }, ttlResolution: 0 });
  return async (presented) => {
    const hash = hashOf(presented).toString('base64');
    const held = good.get(hash);
    if (held && (held.expiresAt === null || held.expiresAt.getTime() > clock())) return held;
    const key = await verifyKey(db, presented);
    if (key) good.set(hash, key);
    return key;
  };
}
