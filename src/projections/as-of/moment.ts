import { sql } from 'kysely';
import { TOPICS } from '../../events/catalogue.ts';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition, reached } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { AsOfError } from './as-of-error.ts';

/** A moment of the record: next offsets, or a time. */
export type Moment =
  /** Everything below these next offsets. A partition that is not named is at 0: as where a reader begins. */
  | { readonly kind: 'position'; readonly position: Offsets }
  /**
   * In every partition everything before the first event that the log took later. So the moment is a prefix of each partition,
   * grows with the time, is the same after any rebuild, and no producer can move it, whatever times its events have. Of events
   * that were recorded before logs dated their records, `occurredAt` decides, and of their requeues from quarantine the time of
   * the requeue: until the first dated record, one that says it happened later holds back what follows it in its partition.
   */
  | { readonly kind: 'time'; readonly time: Date };

/**
 * Returns the moment as next offsets, without the partitions that stand at 0: equal moments are equal positions. @throws
 * AsOfError `not-reached` beyond the journal.
 */
export async function resolveMoment(db: Db, moment: Moment): Promise<Offsets> {
  const journalled = await readJournalled(db);
  if (moment.kind === 'time') return before(db, moment.time, journalled);
  const unknown = [...moment.position.keys()].find((topic) => !TOPICS.some((known) => known === topic));
  if (unknown !== undefined)
    throw new AsOfError(
      'not-reached',
      `the position names the topic ${JSON.stringify(unknown)}, which the log does not have; it has ${TOPICS.join(', ')}`,
    );
  if (!reached(journalled, moment.position))
    throw new AsOfError(
      'not-reached',
      `the position lies beyond what is journalled, ${formatPosition(journalled) || 'nothing yet'}; wait for it (waitFor), or pass one that this server gave`,
    );
  return each(journalled, (topic, partition) => moment.position.get(topic)?.get(partition) ?? 0);
}

/**
 * The position of the journal in each partition, of trees no further than step-tree: by it the streams of a run or step are
 * found.
 */
async function readJournalled(db: Db): Promise<Offsets> {
  const { rows } = await sql<{ topic: string; partition: number; next: number }>`
    with live as (select c.* from cursors c join projections p on p.name = c.projection and p.version = c.version)
    select j.topic, j.partition,
           case when j.topic = 'trees' then least(j.next_offset, coalesce(t.next_offset, 0)) else j.next_offset end as next
    from live j left join live t on t.projection = 'step-tree' and t.topic = j.topic and t.partition = j.partition
    where j.projection = 'journal'`.execute(db);
  return offsetsOf(rows);
}

async function before(db: Db, time: Date, journalled: Offsets): Promise<Offsets> {
  const at = sql`${time.toISOString()}::timestamptz`;
  // A dated record that is in the moment has all before it there, also what says of itself that it happened later.
  const { rows } = await sql<{ topic: string; partition: number; next: number }>`
    select topic, partition, next from (
      select topic, partition,
             case when bool_or(received_at <= ${at}) then min("offset") filter (where received_at > ${at})
                  else min("offset") filter (where coalesce(received_at, said) > ${at}) end as next
      from (
        select topic, partition, "offset", received_at, occurred_at as said from events
        union all
        select topic, partition, "offset", received_at, requeued_at from requeued_records
      ) placed group by topic, partition
    ) later where next is not null`.execute(db);
  const later = offsetsOf(rows);
  // The journal may have gone on since its cursors were read: what it took meanwhile is not in the moment.
  return each(journalled, (topic, partition, end) => Math.min(end, later.get(topic)?.get(partition) ?? end));
}

function offsetsOf(rows: readonly { topic: string; partition: number; next: number }[]): Offsets {
  const offsets = new Map<string, Map<number, number>>();
  for (const { topic, partition, next } of rows)
    offsets.set(topic, (offsets.get(topic) ?? new Map<number, number>()).set(partition, next));
  return offsets;
}

function each(offsets: Offsets, next: (topic: string, partition: number, end: number) => number): Offsets {
  return new Map(
    [...offsets].map(([topic, partitions]) => [
      topic,
      new Map(
        [...partitions]
          .map(([partition, end]) => [partition, next(topic, partition, end)] as const)
          .filter(([, offset]) => offset > 0),
      ),
    ]),
  );
}
