import { sql } from 'kysely';
import { type EventLog, LogError, type Receipt } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { setIdleTimeout, whileHeld } from '../../postgres/hold-transaction.ts';
import { countNotices } from '../../postgres/notices.ts';
import { rest } from '../../runtime/retry.ts';

/** Notifies a waiting relay that there is work. */
export const OUTBOX_CHANNEL = 'espalier_outbox';

const LOCK = 0x65_73_70_6f; // 'espo': one relay at a time sends, or two would send the same
const SLICE = 500; // records of one append: some hundred KB
const KEPT_DAYS = 7; // relayed rows are of use only to someone who looks after a fault

export interface RelayOptions {
  readonly db: Db;
  readonly log: EventLog;
}

export interface Relay {
  /**
   * Appends everything that lies in the outbox now and marks it. Calls made meanwhile share the next pass. @throws LogError,
   * database faults: then what was not marked stays, and the next pass sends it again, byte for byte.
   */
  flush(): Promise<void>;
}

/** Makes a relay of the outbox for this process. Any number may work on one database: a lock lets one send at a time. */
export function createRelay(options: RelayOptions): Relay {
  let underWay: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  return {
    flush() {
      // A pass that runs already may have read before the caller's rows were committed: the caller needs one that begins now.
      if (next) return next;
      const pass = (underWay ?? Promise.resolve())
        .catch(() => undefined)
        .then(() => {
          next = undefined;
          underWay = pass;
          return relayAll(options);
        });
      next = pass;
      return pass;
    },
  };
}

/** Sends until nothing waits. Returns the number of records sent. */
async function relayAll(options: RelayOptions): Promise<void> {
  while ((await relaySlice(options)) === SLICE);
}

/**
 * Sends one slice: read, append, mark, in one transaction under the lock. Killed after the append and before the commit, the
 * slice is sent again by the next relay: delivery is at least once, and the ids make the effect exactly once. Of one that is
 * stopped in between Postgres ends the transaction, and the next relay sends the slice.
 */
export async function relaySlice({ db, log }: RelayOptions): Promise<number> {
  return db.transaction().execute(async (trx) => {
    // The mark need not reach the disk before the caller goes on: what a crash takes of it is sent again, as after any other.
    await sql`select pg_advisory_xact_lock(${LOCK}), set_config('synchronous_commit', 'off', true), ${setIdleTimeout}`.execute(
      trx,
    );
    const { rows } = await sql<WaitingRow>`
      select outbox_id as id, topic, key, value from outbox where relayed_at is null order by outbox_id limit ${SLICE}`.execute(
      trx,
    );
    if (rows.length === 0) return 0;
    const records = rows.map(({ topic, key, value }) => ({ topic, key, value }));
    const receipts = await whileHeld(trx, () => log.append(records)); // it may wait for minutes until brokers are back
    await markRelayed(trx, rows, receipts);
    return rows.length;
  });
}

interface WaitingRow {
  readonly id: number;
  readonly topic: string;
  readonly key: string;
  readonly value: Buffer;
}

async function markRelayed(trx: Db, rows: readonly WaitingRow[], receipts: readonly Receipt[]): Promise<void> {
  await sql`
    update outbox o set relayed_at = clock_timestamp(), log_partition = r.partition, log_offset = r."offset"
    from unnest(${rows.map(({ id }) => id)}::bigint[], ${receipts.map(({ partition }) => partition)}::integer[],
      ${receipts.map(({ offset }) => offset)}::bigint[]) as r (id, partition, "offset")
    where o.outbox_id = r.id`.execute(trx);
}

async function isWaiting(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from outbox where relayed_at is null limit 1`.execute(db);
  return rows.length > 0;
}

/** Removes rows that were relayed long ago. */
export async function forgetRelayed(db: Db): Promise<void> {
  await sql`delete from outbox where relayed_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(db);
}

const IDLE_MS = 1_000; // a notice wakes it at once; this is for notices that were lost
const BEHIND_MS = 10; // who wrote to the outbox relays it too: by then it mostly has, and nobody waits for the lock
const RETRY_MS = 1_000;

export interface RelayLoopOptions extends RelayOptions {
  readonly databaseUrl: string;
  /** Done before every pass and at least once a second: what is decided by time, such as leases that ran out. */
  readonly beforePass?: () => Promise<void>;
  readonly onFault?: (error: unknown) => void;
}

/**
 * Runs the relay until closed: when something was written to the outbox and is left there, and every second anyway. A fault of
 * log or database is waited out.
 */
export async function runRelay(options: RelayLoopOptions): Promise<{ readonly finished: Promise<void>; close(): Promise<void> }> {
  const { databaseUrl, beforePass, onFault } = options;
  const stopping = new AbortController();
  const notices = await countNotices(databaseUrl, [OUTBOX_CHANNEL]);
  const relay = createRelay(options);
  const finished = loop();
  return {
    finished,
    async close() {
      stopping.abort();
      await finished.catch(() => undefined); // a bug was reported by `finished`
      await notices.close();
    },
  };

  async function loop(): Promise<void> {
    await forgetRelayed(options.db).catch(onFault);
    while (!stopping.signal.aborted) {
      const seen = notices.count;
      try {
        await beforePass?.();
        if (await isWaiting(options.db)) await relay.flush();
      } catch (error) {
        if (error instanceof LogError && error.code === 'closed') return;
        onFault?.(error);
        await rest(RETRY_MS, stopping.signal);
      }
      await notices.beyond(seen, IDLE_MS, stopping.signal);
      await rest(BEHIND_MS, stopping.signal);
    }
  }
}
