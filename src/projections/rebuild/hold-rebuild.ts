import { sql } from 'kysely';
import type { Database } from '../../postgres/database.ts';
import { whileHeld } from '../../postgres/hold-transaction.ts';
import { retry } from '../../runtime/retry.ts';
import { isDatabaseFault } from '../fault.ts';
import type { Projection } from '../projection.ts';
import { RebuildLost } from './build.ts';

const AGAIN_MS = 500;
const LOCK = 0x65_73_70_63; // with the hash of the name: one rebuild of a projection at a time

/** Another process rebuilds this projection. */
export class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
  constructor(projection: string) {
    super(`${projection} is being rebuilt by another process; wait for it, or end it: what it has built is gone on with`);
  }
}

/**
 * Does something as the only one who builds versions of a projection. The right ends with the process, however that ends, and
 * some seconds after it was stopped: it is a lock of a transaction that Postgres ends when its client is silent. Whoever lost it
 * with a connection goes on while nobody else takes it.
 * @param use is passed a signal that aborts when another process has the right.
 * @throws RebuildUnderWay; RebuildLost.
 */
export async function holdRebuild<T>(
  { db }: Database,
  { name }: Projection,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  let using: Promise<T> | undefined;
  let isOver = false;
  const hold = () =>
    db.transaction().execute(async (lock) => {
      const { rows } = await sql<{ held: boolean }>`
        select pg_try_advisory_xact_lock(${LOCK}, hashtext(${name})) as held`.execute(lock);
      if (!rows[0]?.held) throw new RebuildUnderWay(name);
      await whileHeld(lock, async (held) => {
        using ??= use(lost.signal).finally(() => {
          isOver = true;
        });
        await Promise.race([using.then(ignore, ignore), rejectedBy(held.signal)]);
      });
    });
  try {
    await retry(hold, {
      pauseMs: AGAIN_MS,
      again: ({ error }) => using !== undefined && !isOver && isDatabaseFault(error),
    });
  } catch (error) {
    if (using === undefined) throw error;
    if (isOver) return using;
    lost.abort(error);
    await using.then(ignore, ignore);
    throw new RebuildLost(name, error);
  }
  return using as Promise<T>; // it was held once
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = () => reject(signal.reason);
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}

function ignore(): void {
  // whoever waits for it sees how it ended
}
