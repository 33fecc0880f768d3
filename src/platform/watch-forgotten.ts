import { countDestroyedKeys } from '../postgres/stream-keys.ts';
import type { Running } from '../runtime/lifecycle.ts';
import { rest } from '../runtime/retry.ts';
import { untilClosed } from '../runtime/until-closed.ts';
import type { Platform } from './open-platform.ts';

const LOOK_MS = 60_000; // as long as an appender goes on sealing by a destroyed key

/**
 * Looks once a minute whether keys of streams were destroyed, by whichever process, and drops from this one's memory what they
 * sealed. Where Postgres cannot be asked it is dropped as well: nobody knows what was forgotten.
 */
export function watchForgotten(
  { database }: Pick<Platform, 'database'>,
  drop: () => void,
  { lookMs = LOOK_MS }: { readonly lookMs?: number } = {},
): Running {
  return untilClosed(look);

  async function look(signal: AbortSignal): Promise<void> {
    let known = await count();
    while (!signal.aborted) {
      await rest(lookMs, signal);
      if (signal.aborted) return;
      const destroyed = await count();
      if (destroyed === null || destroyed !== known) drop();
      known = destroyed;
    }
  }

  async function count(): Promise<number | null> {
    try {
      return await countDestroyedKeys(database.db);
    } catch {
      return null;
    }
  }
}
