import { isKeyTaken } from '../postgres/bulk.ts';
import type { Db } from '../postgres/database.ts';
import { retry } from '../runtime/retry.ts';
import { applySlice } from './apply-slice.ts';
import { isDataFault } from './fault.ts';
import type { Projection } from './projection.ts';
import { setAsideUnstorable } from './quarantine.ts';
import type { Applied, Item, Slice } from './slice.ts';

// each try that meets a key follows the commit of another slice, which may be followed by the next of its partition
const KEY_TRIES = 100;

/**
 * Applies a slice, and when Postgres refuses a value in it (which the schemas should have caught) halves it until the one event
 * to blame is isolated and goes to quarantine: an event that nobody can store must not freeze the read model of everything
 * behind it.
 */
export async function applyIsolatingPoison(db: Db, projection: Projection, slice: Slice): Promise<Applied> {
  try {
    return await applyKnowingKeys(db, projection, slice);
  } catch (error) {
    if (!isDataFault(error)) throw error;
    if (slice.items.length <= 1)
      return applySlice(db, projection, slice, (trx, _projection, _slice, items) =>
        setAsideUnstorable(trx, projection, slice, items, error),
      );
  }
  const middle = slice.items[slice.items.length >> 1] as Item; // there are at least two items
  const cut = middle.kind === 'event' ? middle.delivery.offset : middle.offset;
  const before = slice.items.slice(0, slice.items.length >> 1);
  const first = await applyIsolatingPoison(db, projection, { ...slice, next: cut, items: before });
  if (first.cursor < cut) return first;
  const second = await applyIsolatingPoison(db, projection, { ...slice, from: cut, items: slice.items.slice(before.length) });
  return { cursor: second.cursor, quarantined: first.quarantined + second.quarantined };
}

/**
 * Applies a slice again when a key that it did not know was taken meanwhile: partitions are folded side by side, and two may hold
 * one event or one stream. Read again, the key is known, and the fold says what it means.
 */
function applyKnowingKeys(db: Db, projection: Projection, slice: Slice): Promise<Applied> {
  return retry(() => applySlice(db, projection, slice), {
    again: ({ error, tries }) => isKeyTaken(error) && tries < KEY_TRIES,
    pauseMs: 0,
  });
}
