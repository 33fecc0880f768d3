import type { Db } from '../postgres/database.ts';
import { type ApiKey, findActiveKeys, hashOf } from '../postgres/keys.ts';
import { openCache } from '../runtime/cache.ts';
import { gathering } from '../runtime/gathering.ts';
import type { CounterMetric } from '../runtime/metrics.ts';

const LIFE_MS = 3_000; // how long a revoked key may still work; one look-up per key and three seconds is nothing to the database
const SIZE = 1_000;

/**
 * Verifies keys with a small memory of those found good. Wrong ones are not remembered: their number has no bound. All keys that
 * are presented while a look-up is under way are looked up together by the next one, so that any number of wrong keys keeps one
 * connection of the database busy and holds up nobody.
 */
export function createKeyCache(
  db: Db,
  clock: () => number,
  wrong: CounterMetric<never>,
): (presented: string) => Promise<ApiKey | undefined> {
  const now = (): number => clock() + 1; // a time of 0 is none to the cache
  const good = openCache<ApiKey>({ max: SIZE, ttl: LIFE_MS, perf: { now }, ttlResolution: 0 });
  const lookUp = gathering((presented: readonly string[]) => findActiveKeys(db, presented));
  return async (presented) => {
    const hash = hashOf(presented).toString('base64');
    const cached = good.get(hash);
    if (cached && (cached.expiresAt === null || cached.expiresAt.getTime() > clock())) return cached;
    const key = (await lookUp(presented)).get(presented);
    if (key) good.set(hash, key);
    else wrong.add(1, {});
    return key;
  };
}
