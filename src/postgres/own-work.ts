import { sql } from 'kysely';
import type { Db } from './database.ts';
import { type HeldTransaction, whileHeld } from './hold-transaction.ts';

/** `busy`: another process, or another part of this one, owns the work. */
export type OwnedWork<T> = { readonly kind: 'busy' } | { readonly kind: 'done'; readonly result: T };

/**
 * Does work as its only owner in the installation, unless it has one. The right ends with the process, however that ends, and some
 * seconds after it was stopped: it is an advisory lock of a transaction that Postgres ends when its client is silent. Who owns
 * work confirms it before what only the owner may do. Each call keeps a connection of the pool, and `work` needs others.
 * @param name of the work, in words.
 */
export function tryOwnWork<T>(db: Db, name: string, work: (transaction: HeldTransaction) => Promise<T>): Promise<OwnedWork<T>> {
  return db.transaction().execute(async (lock) => {
    const { rows } = await sql<{ owned: boolean }>`select pg_try_advisory_xact_lock(${keyOf(name)}) as owned`.execute(lock);
    if (rows[0]?.owned !== true) return { kind: 'busy' };
    return { kind: 'done', result: await whileHeld(lock, work) };
  });
}

/** Does work as `tryOwnWork` does, once its owner, if there is one, is done. */
export function ownWork<T>(db: Db, name: string, work: (transaction: HeldTransaction) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (lock) => {
    await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(lock);
    return whileHeld(lock, work);
  });
}

function keyOf(name: string) {
  return sql`hashtextextended(${`espalier ${name}`}, 0)`;
}
