import type { Db } from '../postgres/database.ts';
import { type ApiKey, hashOf, verifyKey } from '../postgres/keys.ts';

const LIFE_MS = 5_000; // how long a revoked key may still work; one look-up per key and five seconds is nothing to the database
const SIZE = 1_000;

/** Verifies keys with a small memory of those found good. Wrong ones are not remembered: their number has no bound. */
export function createKeyCache(
  db: Db,
  clock: () => number,
  lifeMs = LIFE_MS,
): (presented: string) => Promise<ApiKey | undefined> {
  const good = new Map<string, { readonly key: ApiKey; readonly until: number }>();
  return async (presented) => {
    const hash = hashOf(presented).toString('base64');
    const held = good.get(hash);
    if (held && held.until > clock()) return held.key;
    good.delete(hash);
    const key = await verifyKey(db, presented);
    if (key) {
      if (good.size >= SIZE) good.clear();
      good.set(hash, { key, until: clock() + lifeMs });
    }
    return key;
  };
}
