import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { CHAIN_START, chainDigest } from './chain.ts';
import { splitDigests } from './journal-chain.ts';

/** An event of the journal that is not as it was chained. */
export interface ChainFault {
  readonly kind: 'changed' | 'missing' | 'inserted' | 'renumbered';
  /** topic.partition@offset. */
  readonly place: string;
  readonly eventId: string;
}

export interface ChainReport {
  readonly events: number;
  readonly faults: readonly ChainFault[];
  /** All faults; `faults` holds the first. */
  readonly faulty: number;
}

interface Entry {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly eventId: string;
}

const FAULTS_SHOWN = 20;
const BLOCKS_AT_ONCE = 16;

/**
 * Computes the chain of every partition again from the bodies that the journal holds and compares digest by digest. A record that differs is named; the
 * chain goes on from the recorded digest, so that one change is one fault. An event that was appended twice is kept once: its second place is no fault.
 * @param visit hears every body, so that what it refers to can be checked in the same pass.
 */
export async function verifyChain(
  db: Db,
  {
    signal,
    progress,
    visit,
  }: {
    readonly signal: AbortSignal;
    readonly progress?: (events: number) => void;
    readonly visit?: (body: string) => void;
  },
): Promise<ChainReport> {
  const faults: ChainFault[] = [];
  let [events, faulty] = [0, 0];
  const fault = (kind: ChainFault['kind'], { topic, partition, offset, eventId }: Entry) => {
    faulty++;
    if (faults.length < FAULTS_SHOWN) faults.push({ kind, place: `${topic}.${partition}@${offset}`, eventId });
  };
  for (const { topic, partition, until } of await partitionsOf(db)) {
    let before: Uint8Array = CHAIN_START;
    let [after, reached] = [-1, -1];
    for (;;) {
      signal.throwIfAborted();
      const blocks = await readBlocks(db, topic, partition, after);
      const whole = blocks.length < BLOCKS_AT_ONCE;
      const end = whole ? until - 1 : (blocks.at(-1)?.offsets.at(-1) ?? reached);
      const rows = await readBodies(db, topic, partition, reached, end);
      const chained = blocks
        .flatMap(({ offsets, ids, digests }) => entriesOf(offsets, ids, splitDigests(digests)))
        .filter(({ offset }) => offset < until);
      const known = new Set(chained.map(({ offset }) => offset));
      for (const row of rows.values()) if (!known.has(row.offset)) fault('inserted', { topic, partition, ...row });
      const absent = chained.filter(({ offset }) => !rows.has(offset));
      const kept = await keptElsewhere(
        db,
        absent.map(({ eventId }) => eventId),
      );
      for (const { offset, eventId, digest } of chained) {
        const row = rows.get(offset);
        const entry = { topic, partition, offset, eventId };
        if (!row) {
          if (!kept.has(eventId)) fault('missing', entry);
        } else {
          events++;
          visit?.(row.body);
          if (row.eventId !== eventId) fault('renumbered', entry);
          else if (Buffer.compare(chainDigest(before, offset, row.body), digest) !== 0) fault('changed', entry);
        }
        before = digest;
      }
      progress?.(events);
      if (whole || end >= until) break;
      after = blocks.at(-1)?.block ?? after;
      reached = end;
    }
  }
  return { events, faults, faulty };
}

/** Lists the partitions, each with the offset up to which both the journal and the chain were folded. */
async function partitionsOf(
  db: Db,
): Promise<readonly { readonly topic: string; readonly partition: number; readonly until: number }[]> {
  const { rows } = await sql<{ topic: string; partition: number; until: number }>`
    select topic, partition, min(next_offset) as until from cursors where projection in ('journal', 'journal-chain')
    group by topic, partition having count(distinct projection) = 2 order by topic, partition`.execute(db);
  return rows;
}

function entriesOf(offsets: readonly number[], ids: readonly string[], digests: readonly Uint8Array[]) {
  return offsets.map((offset, i) => ({ offset, eventId: ids[i] ?? '', digest: digests[i] ?? CHAIN_START }));
}

interface StoredBlock {
  readonly block: number;
  readonly offsets: readonly number[];
  readonly ids: readonly string[];
  readonly digests: Buffer;
}

async function readBlocks(db: Db, topic: string, partition: number, after: number): Promise<readonly StoredBlock[]> {
  const { rows } = await sql<StoredBlock>`
    select block, to_json(offsets) as offsets, to_json(event_ids) as ids, digests from chain_blocks
    where topic = ${topic} and partition = ${partition} and block > ${after} order by block limit ${BLOCKS_AT_ONCE}`.execute(db);
  return rows;
}

interface Body {
  readonly offset: number;
  readonly eventId: string;
  readonly body: string;
}

/** Reads what the journal holds behind `from` up to `to`. */
async function readBodies(db: Db, topic: string, partition: number, from: number, to: number): Promise<Map<number, Body>> {
  const { rows } = await sql<Body>`
    select "offset", event_id as "eventId", body from events
    where topic = ${topic} and partition = ${partition} and "offset" > ${from} and "offset" <= ${to}
    order by "offset"`.execute(db);
  return new Map(rows.map((row) => [row.offset, row]));
}

async function keptElsewhere(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ eventId: string }>`
    select event_id as "eventId" from events where event_id = any(${[...ids]}::uuid[])`.execute(db);
  return new Set(rows.map(({ eventId }) => eventId));
}
