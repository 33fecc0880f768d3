import { type Dialect, type Driver, Transaction } from 'kysely';
import type { Db, Trx } from './database.ts';
import { MeteredConnection } from './metered-connection.ts';
import type { Tables } from './tables.ts';

const AHEAD = new WeakSet<Trx>();

/** Returns whether statements of a transaction are sent side by side: none of them may be taken back by itself. */
export function isAhead(trx: Trx): boolean {
  return AHEAD.has(trx);
}

/**
 * Does work in a transaction whose statements are sent as they come, without waiting for the answers to those before: several
 * that do not need each other take the time of one. Postgres does them in the order in which they were asked. Nothing is sent
 * behind the end; `sideBySide` asks for several things at once.
 * @param setting statements without parameters that set up the transaction.
 * @param work what it asks before its first wait must change nothing: it may find that no transaction began.
 */
export async function transactionAhead<T>(db: Db, setting: string, work: (trx: Trx) => Promise<T>): Promise<T> {
  const executor = db.getExecutor();
  return executor.provideConnection(async (connection) => {
    if (!(connection instanceof MeteredConnection)) throw new TypeError('a connection of another dialect');
    let ended = false;
    const trx = new Transaction<Tables>({
      ...UNUSED,
      executor: executor.withConnectionProvider({
        provideConnection: async (use) => {
          if (ended) throw new Error('a statement behind the end of its transaction');
          return use(connection);
        },
      }),
    });
    AHEAD.add(trx);
    return connection.ahead(async () => {
      try {
        const begun = connection.control(`begin; ${setting}`, 'open');
        begun.catch(() => (ended = true));
        const result = await work(trx);
        await begun;
        ended = true;
        await connection.control('commit', 'none');
        return result;
      } catch (error) {
        ended = true;
        await connection.control('rollback', 'none').catch(() => undefined); // the connection may be gone
        throw error;
      }
    });
  });
}

// A transaction asks its executor alone.
const UNUSED = { config: { dialect: {} as Dialect }, dialect: {} as Dialect, driver: {} as Driver };
