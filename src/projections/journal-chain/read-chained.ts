import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { CHAIN_START } from './chain.ts';
import { BLOCK, splitDigests } from './journal-chain.ts';

/** A record as the database remembers it: its digest in the chain and the one before it, and the columns of its row. */
export interface ChainedRecords {
  readonly eventId: string;
  readonly before: Uint8Array;
  readonly digest: Uint8Array;
  /** Null where the journal keeps no row: the event was appended before, or was set aside. */
  readonly row: { readonly stream: string; readonly receivedAt: number | null } | null;
}

/** What the database remembers of a run of offsets. */
export interface ChainedRun {
  readonly entries: ReadonlyMap<number, ChainedRecords>;
  /** The latest time that the journal holds of the partition before the run, ms since 1970. */
  readonly receivedBefore: number | null;
  /** The times of requeues by their offsets: they are places of events whose rows lie elsewhere. */
  readonly requeued: ReadonlyMap<number, number | null>;
}

/** Returns the end of the chain of each partition, by topic: what lies below it was folded. */
export async function readChainEnds(db: Db): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const { rows } = await sql<{ topic: string; partition: number; end: number }>`
    select c.topic, c.partition, min(c.next_offset) as "end"
    from cursors c join projections p on p.name = c.projection and p.version = c.version
    where c.projection in ('journal', 'journal-chain') group by c.topic, c.partition having count(*) = 2`.execute(db);
  const ends = new Map<string, Map<number, number>>();
  for (const { topic, partition, end } of rows) ends.set(topic, (ends.get(topic) ?? new Map()).set(partition, end));
  return ends;
}

/** Reads what the database remembers of the offsets [from, next) of a partition. */
export async function readChained(db: Db, topic: string, partition: number, from: number, next: number): Promise<ChainedRun> {
  const at = sql`topic = ${topic} and partition = ${partition}`;
  const [first, last] = [Math.floor(from / BLOCK), Math.floor((next - 1) / BLOCK)];
  const blocks = await sql<{ offsets: number[]; ids: string[]; digests: Buffer }>`
    select to_json(offsets) as offsets, to_json(event_ids) as ids, digests from chain_blocks
    where ${at} and block <= ${last}
      and block >= coalesce((select max(block) from chain_blocks where ${at} and block < ${first}), ${first})
    order by block`.execute(db);
  const rows = await sql<{ offset: number; stream: string; receivedAt: number | null }>`
    select "offset", stream, ${millisecondsOf('received_at')} as received_at from events
    where ${at} and "offset" >= ${from} and "offset" < ${next}`.execute(db);
  const requeued = await sql<{ offset: number; receivedAt: number | null }>`
    select "offset", ${millisecondsOf('received_at')} as received_at from requeued_records
    where ${at} and "offset" >= ${from} and "offset" < ${next}`.execute(db);
  const earlier = (table: 'events' | 'requeued_records') => sql`
    (select ${millisecondsOf('received_at')} from ${sql.table(table)} where ${at} and "offset" < ${from} order by "offset" desc limit 1)`;
  const received = await sql<{ at: number | null }>`
    select greatest(${earlier('events')}, ${earlier('requeued_records')}) as at`.execute(db);
  const rowOf = new Map(rows.rows.map(({ offset, ...row }) => [offset, row]));
  const entries = new Map<number, ChainedRecords>();
  let before: Uint8Array = CHAIN_START;
  for (const { offsets, ids, digests } of blocks.rows)
    for (const [i, digest] of splitDigests(digests).entries()) {
      const offset = offsets[i] ?? -1;
      if (offset >= from && offset < next)
        entries.set(offset, { eventId: ids[i] ?? '', before, digest, row: rowOf.get(offset) ?? null });
      before = digest;
    }
  return {
    entries,
    receivedBefore: received.rows[0]?.at ?? null,
    requeued: new Map(requeued.rows.map(({ offset, receivedAt }) => [offset, receivedAt])),
  };
}

/** Returns the bytes that were set aside at offsets of a partition, by offset: no event was chained there. */
export async function readSetAside(
  db: Db,
  topic: string,
  partition: number,
  offsets: readonly number[],
): Promise<ReadonlyMap<number, Buffer>> {
  if (offsets.length === 0) return new Map();
  const { rows } = await sql<{ offset: number; body: Buffer }>`
    select distinct on ("offset") "offset", body from quarantine
    where topic = ${topic} and partition = ${partition} and "offset" = any(${[...offsets]}::bigint[])
    order by "offset", projection <> 'journal'`.execute(db);
  return new Map(rows.map(({ offset, body }) => [offset, body]));
}

function millisecondsOf(column: string) {
  return sql`(extract(epoch from ${sql.ref(column)}) * 1000)::bigint`;
}
