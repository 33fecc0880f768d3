import { sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import type { Trx } from '../../postgres/database.ts';
import { readCursors } from '../read-cursors.ts';
import { readableTables, type TableName } from './tables.ts';

/**
 * Returns the position below which everything is in a table, in the snapshot of a transaction: in each partition the least that
 * one of its projections has folded. Lets Postgres end the transaction when its client is silent for long.
 */
export async function readTablePosition(trx: Trx, table: TableName, idleMs: number): Promise<Offsets> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${`${idleMs}ms`}, true)`.execute(trx);
  const from: readonly string[] = readableTables[table].from;
  const position = new Map<string, Map<number, number>>();
  for (const { name, cursors } of await readCursors(trx)) {
    if (!from.includes(name)) continue;
    for (const [topic, partitions] of cursors) {
      const least = position.get(topic) ?? new Map<number, number>();
      position.set(topic, least);
      for (const [partition, next] of partitions) least.set(partition, Math.min(next, least.get(partition) ?? next));
    }
  }
  return position;
}
