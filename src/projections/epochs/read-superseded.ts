import { sql } from 'kysely';
import { identityOf } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';

/** Returns which of some events the record holds without effect (`mark-superseded.ts`), by `identityOf`. */
export async function readSuperseded(
  db: Db,
  events: readonly { readonly stream: string; readonly id: string }[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string; stream: string }>`
    select s.event_id as id, s.stream from superseded s
    join unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ stream }) => stream)}::uuid[]) as asked (id, stream)
      on s.stream = asked.stream and s.event_id = asked.id`.execute(db);
  return new Set(rows.map(identityOf));
}
