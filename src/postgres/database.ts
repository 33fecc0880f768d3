import { Kysely, type Transaction } from 'kysely';
import type pg from 'pg';
import { CamelCaseDialect } from './camel-case-dialect.ts';
import { openPool, type PoolOptions } from './pool.ts';
import type { Tables } from './tables.ts';

export interface Database {
  readonly db: Kysely<Tables>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}
export type Trx = Transaction<Tables>;
export type Db = Kysely<Tables>;

/**
 * Opens the database for typed queries (kysely) over one pool. @throws DatabaseUnreachable when nobody answers at the address.
 */
export async function openDatabase(url: string, options: PoolOptions = {}): Promise<Database> {
  const pool = openPool(url, options);
  try {
    (await pool.connect()).release();
  } catch (error) {
    await pool.end();
    throw new DatabaseUnreachable(url, error);
  }
  const db = new Kysely<Tables>({ dialect: new CamelCaseDialect(pool) });
  return {
    db,
    pool,
    async close() {
      await db.destroy();
      if (!pool.ending) await pool.end(); // kysely leaves a pool alone through which it has sent nothing
    },
  };
}

export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
  constructor(url: string, cause: unknown) {
    super(
      `cannot reach Postgres at ${withoutPassword(url)}: ${reasonOf(cause)}; check DATABASE_URL, or unset it to use the embedded server`,
      { cause },
    );
  }
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/?#]*):[^/?#]*@/i, '$1@').replace(/([?&]password=)[^&#]*/i, '$1…');
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
