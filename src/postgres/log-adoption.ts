import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { RecordedLayout } from './log-layouts.ts';

/** A process that appends, as it last confirmed that. */
export interface AppenderSeen {
  readonly name: string;
  /** How long ago, ms. */
  readonly age: number;
}

/** Begins an adoption, unless one is under way: until it ends no appender places a record. Returns whether it began. */
export async function beginAdoption(db: Db, adoption: string, lastsMs: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into log_adoptions (adoption, until) values (${adoption}, clock_timestamp() + ${lastsMs} * interval '1 millisecond')
    on conflict (singleton) do update set adoption = excluded.adoption, until = excluded.until
    where log_adoptions.until < clock_timestamp()`.execute(db);
  return numAffectedRows === 1n;
}

/** Ends an adoption, whatever resulted from it: appenders go on. */
export async function endAdoption(db: Db, adoption: string): Promise<void> {
  await sql`delete from log_adoptions where adoption = ${adoption}`.execute(db);
}

/**
 * Returns the appenders that were there within the last `withinMs` and have not acknowledged the adoption (all of them, where
 * none is given): what they placed by the earlier layout may still be on its way.
 */
export async function readAppenders(db: Db, withinMs: number, adoption: string | null): Promise<readonly AppenderSeen[]> {
  const { rows } = await sql<AppenderSeen>`
    select name, (extract(epoch from clock_timestamp() - confirmed_at) * 1000)::bigint as age from log_appenders
    where confirmed_at > clock_timestamp() - ${withinMs} * interval '1 millisecond'
      and (${adoption}::uuid is null or acknowledged is distinct from ${adoption}::uuid)
    order by confirmed_at desc`.execute(db);
  return rows;
}

/** Removes what appenders that are long gone left behind. */
export async function forgetAppendersBefore(db: Db, ms: number): Promise<void> {
  await sql`delete from log_appenders where confirmed_at < clock_timestamp() - ${ms} * interval '1 millisecond'`.execute(db);
}

/**
 * Records the next layouts and ends the adoption, in one transaction. Returns false, and records nothing, when its time is over.
 */
export async function recordAdopted(db: Db, adoption: string, layouts: ReadonlyMap<string, RecordedLayout>): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      delete from log_adoptions where adoption = ${adoption} and until > clock_timestamp()`.execute(trx);
    if (numAffectedRows !== 1n) return false;
    for (const [topic, { partitions, ends }] of layouts)
      await sql`
        insert into log_layouts (topic, layout, partitions, ends)
        select ${topic}, coalesce(max(layout), 0) + 1, ${partitions}, ${[...ends]}::bigint[] from log_layouts where topic = ${topic}`.execute(
        trx,
      );
    return true;
  });
}
