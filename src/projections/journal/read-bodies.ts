import { sql } from 'kysely';
import { identityOf } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/**
 * The record of a row of `events` under the alias `e`. A fold sees the table itself, whose body may lie in the log; others see
 * the view, which has it.
 */
export const BODY = sql<string>`
  case when e.body = '' then (
    select convert_from(r.value, 'UTF8') from log_records r where r.partition_id = e.log_partition and r."offset" = e."offset")
  else e.body end`;

/** Reads the records of events, byte for byte, by `identityOf`; events that the journal does not hold are left out. */
export async function readBodiesOf(
  db: Db,
  events: readonly { readonly stream: string; readonly id: string }[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; stream: string; body: string }>`
    select e.event_id as id, e.stream, ${BODY} as body from events e
    join unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ stream }) => stream)}::uuid[]) as asked (id, stream)
      on e.event_id = asked.id and e.stream = asked.stream`.execute(db);
  return new Map(rows.map((row) => [identityOf(row), row.body]));
}

/** Reads the records of all events of a type, byte for byte, by stream and position. */
export async function readBodiesOfType(db: Db, type: string): Promise<readonly string[]> {
  const rows = await rowsWhere(db, 'events', { type }, ['body'], ['stream', 'position']);
  return rows.map(({ body }) => body);
}
