import { sql } from 'kysely';
import type { Db } from './database.ts';

/** A layout of a topic as it is recorded: see migrations/0001-log.sql. */
export interface RecordedLayout {
  readonly partitions: number;
  readonly ends: readonly number[];
}
export type RecordedLayouts = ReadonlyMap<string, readonly RecordedLayout[]>;

/** Reads the layouts of every topic, the oldest first. */
export async function readLayouts(db: Db): Promise<RecordedLayouts> {
  const { rows } = await sql<{ layouts: readonly LayoutRow[] }>`select ${ALL_LAYOUTS} as layouts`.execute(db);
  return byTopic(rows[0]?.layouts ?? []);
}

/** Records the first layout of topics that have none. */
export async function recordFirstLayouts(db: Db, layouts: ReadonlyMap<string, RecordedLayout>): Promise<void> {
  for (const [topic, { partitions, ends }] of layouts)
    await sql`
      insert into log_layouts (topic, layout, partitions, ends) values (${topic}, 1, ${partitions}, ${[...ends]}::bigint[])
      on conflict (topic, layout) do nothing`.execute(db);
}

/**
 * Notes that an appender is there and places records by the layouts that are read here, in one statement. @param acknowledged an
 * adoption before which nothing that it placed is still on its way.
 */
export async function confirmLayouts(
  db: Db,
  appender: { readonly id: string; readonly name: string },
  acknowledged: string | null,
): Promise<{ readonly layouts: RecordedLayouts; readonly adoption: string | null }> {
  const { rows } = await sql<{ layouts: readonly LayoutRow[]; adoption: string | null }>`
    with confirmed as (
      insert into log_appenders (appender, name, acknowledged) values (${appender.id}, ${appender.name}, ${acknowledged}::uuid)
      on conflict (appender) do update set confirmed_at = clock_timestamp(), acknowledged = excluded.acknowledged
    )
    select ${ALL_LAYOUTS} as layouts,
           (select adoption from log_adoptions where until > clock_timestamp()) as adoption`.execute(db);
  return { layouts: byTopic(rows[0]?.layouts ?? []), adoption: rows[0]?.adoption ?? null };
}

/** Notes that an appender is gone. */
export async function forgetAppender(db: Db, id: string): Promise<void> {
  await sql`delete from log_appenders where appender = ${id}`.execute(db);
}

interface LayoutRow extends RecordedLayout {
  readonly topic: string;
}

const ALL_LAYOUTS = sql`(
  select coalesce(jsonb_agg(jsonb_build_object('topic', topic, 'partitions', partitions, 'ends', ends) order by topic, layout), '[]')
  from log_layouts)`;

function byTopic(rows: readonly LayoutRow[]): RecordedLayouts {
  const layouts = new Map<string, RecordedLayout[]>();
  for (const { topic, partitions, ends } of rows) layouts.set(topic, [...(layouts.get(topic) ?? []), { partitions, ends }]);
  return layouts;
}
