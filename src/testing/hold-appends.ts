import type { Platform } from '../platform/open-platform.ts';
import { connect } from '../postgres/pool.ts';
import { until } from './until.ts';

/** Appends to an embedded log that stand still in the middle of their transaction: not durable, not refused. */
export interface HeldAppends {
  /** Waits until somebody's append is held. */
  held(): Promise<void>;
  /** Lets them go on, and all others from now on. */
  release(): Promise<void>;
}

const LOCK = 7;

/**
 * Holds every append to the embedded log of a test's database from the `from`-th record on, by a trigger that waits for a lock.
 */
export async function holdAppends({ database, databaseUrl }: Platform, from: number): Promise<HeldAppends> {
  await database.pool.query(`
    create or replace function hold_append() returns trigger language plpgsql as $$ begin
      if (select count(*) from log_records) >= ${from} then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
      return null; end $$;
    create or replace trigger hold_append after insert on log_records for each statement execute function hold_append()`);
  const holder = await connect(databaseUrl);
  await holder.query('select pg_advisory_lock($1)', [LOCK]);
  return {
    held: () =>
      until(async () => {
        const { rows } = await database.pool.query<{ held: number }>(
          `select count(*) as held from pg_locks where locktype = 'advisory' and not granted and objid = ${LOCK}
           and database = (select oid from pg_database where datname = current_database())`,
        );
        return (rows[0]?.held ?? 0) > 0;
      }),
    release: () => holder.end(),
  };
}
