import { sha256Hex } from '../digest/sha256.ts';
import { openCache } from '../runtime/cache.ts';
import type { CounterMetric } from '../runtime/metrics.ts';
import { type Reply, refuse } from './reply.ts';

const MINUTE_MS = 60_000;
const KEYS = 10_000; // that were good, of which those shown last are remembered
const ADDRESSES = 10_000;

/** Bounds the keys that an address may try. */
export interface GuessBound {
  /** Takes one of the tries of an address, before a key is looked up; returns the refusal where none is left. */
  take(presented: string, address: string): Reply | undefined;
  /** Notes what the look-up of a key found: the try of a good one is given back. */
  note(presented: string, address: string, found: 'good' | 'wrong'): void;
}

/** When all tries of an address will have come back, ms. */
interface Tries {
  backAt: number;
}

/**
 * Lets an address show so many wrong keys a minute; beyond them a key is not looked up. One that was good here before is never
 * held up by others of its address. Each server of an installation counts for itself.
 */
export function boundGuesses(perMinute: number, refused: CounterMetric<'outcome'>, clock: () => number = Date.now): GuessBound {
  const good = openCache<string>({ max: KEYS });
  const tries = openCache<Tries>({ max: ADDRESSES });

  const each = MINUTE_MS / perMinute; // how long until a try comes back

  function triesOf(address: string): Tries {
    const of = tries.get(address) ?? { backAt: 0 };
    of.backAt = Math.max(of.backAt, clock());
    tries.set(address, of);
    return of;
  }

  return {
    take(presented, address) {
      if (good.has(sha256Hex(presented))) return undefined;
      const of = triesOf(address);
      const wait = of.backAt + each - clock() - MINUTE_MS;
      if (wait <= 0) {
        of.backAt += each; // at once: keys that are shown side by side are counted before any of them is looked up
        return undefined;
      }
      refused.add(1, { outcome: 'not-looked-up' });
      return refuse(
        429,
        `${perMinute} wrong API keys came from this address within a minute, and this one was not looked up`,
        'send a good key after Retry-After seconds; ESPALIER_MAX_WRONG_KEYS_PER_ADDRESS allows more, where clients share an address',
        { headers: { 'retry-after': String(Math.ceil(wait / 1_000)) } },
      );
    },
    note(presented, address, found) {
      const hash = sha256Hex(presented);
      if (found === 'wrong') {
        good.delete(hash); // it was revoked, or has expired
        return refused.add(1, { outcome: 'wrong' });
      }
      if (good.has(hash)) return;
      good.set(hash, 'good');
      triesOf(address).backAt -= each;
    },
  };
}
