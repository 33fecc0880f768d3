import { sql } from 'kysely';
import { rest } from '../runtime/retry.ts';
import type { Trx } from './database.ts';

/**
 * How long a client may be silent in a transaction that holds locks, ms; then Postgres ends the transaction, and with it the
 * locks. Without a limit a process that is stopped (SIGSTOP, a debugger, a machine that sleeps) keeps others waiting until it is
 * killed.
 */
export const IDLE_TIMEOUT_MS = 10_000;
/** The same as a setting of Postgres, for a statement that sets up a transaction anyway. */
export const setIdleTimeout = sql`set_config('idle_in_transaction_session_timeout', ${`${IDLE_TIMEOUT_MS}ms`}, true)`;

/** Lets Postgres end this transaction when its client falls silent. */
export async function endWhenSilent(trx: Trx): Promise<void> {
  await sql`select ${setIdleTimeout}`.execute(trx);
}

/** A transaction that is kept open for the locks it holds. */
export interface HeldTransaction {
  /** Aborts when the transaction was ended: somebody else may hold its locks. */
  readonly signal: AbortSignal;
  /** Resolves when the transaction is open now. To be asked before what only the holder may do. @throws what ended it. */
  confirm(): Promise<void>;
}

const ASKS = 5; // in the time of silence: a busy machine may delay some

/**
 * Does work outside of a transaction while the transaction holds locks for it, however long it takes: Postgres hears of the
 * client meanwhile, and ends the transaction of one that is stopped. The work must not use the transaction.
 * @param silenceMs how long the client may be silent.
 */
export async function whileHeld<T>(
  trx: Trx,
  work: (transaction: HeldTransaction) => Promise<T>,
  silenceMs = IDLE_TIMEOUT_MS,
): Promise<T> {
  // A statement with parameters leaves a portal that pins a snapshot until the next statement of its session: who waits until no
  // earlier snapshot is open (a swap of versions) would wait for the next question below. One without parameters closes it.
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(silenceMs)}`.execute(trx);
  const lost = new AbortController();
  const over = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  const confirm = async (): Promise<void> => {
    const asked = last.then(() => sql`select`.execute(trx)); // one after the other: it is one connection
    last = asked.catch((error: unknown) => lost.abort(error));
    await asked;
  };
  const asking = keepAsking();
  try {
    return await work({ signal: lost.signal, confirm });
  } finally {
    over.abort();
    await asking;
  }

  async function keepAsking(): Promise<void> {
    for (;;) {
      await rest(silenceMs / ASKS, over.signal);
      if (over.signal.aborted || lost.signal.aborted) break;
      await confirm().catch(() => undefined); // the signal says so
    }
    await last;
  }
}
