import type { Db } from './database.ts';
import { isLostStatement, Preparing } from './preparing.ts';

const PREPARED = new WeakMap<Db, Db>();

/**
 * Asks by statements that sessions prepare: for what is asked again and again, where planning takes longer than answering. Asked
 * again by plain text where a session had lost them (a pooler lends another one); within a transaction, which such a loss would
 * end, by plain text at once. @param ask reads, and does nothing else.
 */
export async function askPrepared<T>(db: Db, ask: (db: Db) => Promise<T>): Promise<T> {
  if (db.isTransaction) return ask(db);
  const prepared = PREPARED.get(db) ?? db.withPlugin(new Preparing('asked'));
  PREPARED.set(db, prepared);
  try {
    return await ask(prepared);
  } catch (error) {
    if (!isLostStatement((error as { code?: unknown } | undefined)?.code)) throw error;
    return ask(db);
  }
}
