import { sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { copyNew, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import type { Row } from '../../postgres/table.ts';
import type { Poison, Projection } from '../projection.ts';
import { CHAIN_START, chainDigest, DIGEST_BYTES } from './chain.ts';
import { tables } from './tables.ts';

export const BLOCK = 256; // offsets; a block is rewritten while it fills

/**
 * Chains the records of each partition, so that what was changed, taken away or put in afterwards is seen (`espalier verify`).
 */
export const journalChain: Projection = {
  name: 'journal-chain',
  version: 1,
  handles: Object.keys(catalogue) as EventType[], // the keys of the catalogue are its types
  keepsWithoutEffect: true,
  project,
};

/** What a slice adds to a block. */
interface Addition {
  readonly topic: string;
  readonly partition: number;
  readonly block: number;
  readonly offsets: number[];
  readonly eventIds: string[];
  /** In hex. */
  digests: string;
}

const TYPES = {
  topic: 'text',
  partition: 'int',
  block: 'bigint',
  offsets: 'bigint[]',
  eventIds: 'uuid[]',
  digests: 'text',
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const partitions = groupBy(batch, ({ topic, partition }) => `${topic} ${partition}`);
  const last = await lastBlocks(
    trx,
    [...partitions.values()].flatMap(([first]) => (first ? [first] : [])),
  );
  const additions = [...partitions].flatMap(([place, deliveries]) => chain(deliveries, last.get(place)?.digest ?? CHAIN_START));
  const isBegun = ({ topic, partition, block }: Addition) => last.get(`${topic} ${partition}`)?.block === block;
  await sideBySide(
    () => copyNew(trx, tables.chainBlocks, additions.filter((addition) => !isBegun(addition)).map(rowOf)),
    () => lengthen(trx, additions.filter(isBegun)),
  );
  return [];
}

async function lengthen(trx: Trx, additions: readonly Addition[]): Promise<void> {
  if (additions.length === 0) return;
  await sql`
    insert into chain_blocks as b (topic, partition, block, offsets, event_ids, digests)
    select topic, partition, block, offsets, event_ids, decode(digests, 'hex') from ${recordset(additions, TYPES)}
    on conflict (topic, partition, block) do update set offsets = b.offsets || excluded.offsets,
      event_ids = b.event_ids || excluded.event_ids, digests = b.digests || excluded.digests`.execute(trx);
}

/** Offsets are read as texts, and written as numbers. */
function rowOf({ digests, offsets, ...block }: Addition): Row<typeof tables.chainBlocks> {
  return { ...block, offsets: offsets as readonly unknown[] as readonly string[], digests: `\\x${digests}` };
}

/** Chains the records of one partition behind its last digest, by the blocks to which they belong. */
function chain(deliveries: readonly Delivery[], last: Uint8Array): readonly Addition[] {
  const additions: Addition[] = [];
  let before = last;
  let current: Addition | undefined;
  for (const { topic, partition, offset, event, body } of deliveries) {
    const block = Math.floor(offset / BLOCK);
    if (current?.block !== block) {
      current = { topic, partition, block, offsets: [], eventIds: [], digests: '' };
      additions.push(current);
    }
    before = chainDigest(before, offset, body);
    current.offsets.push(offset);
    current.eventIds.push(event.id);
    current.digests += Buffer.from(before).toString('hex');
  }
  return additions;
}

/** Reads the last block of each partition, and the digest at its end. */
async function lastBlocks(
  trx: Trx,
  places: readonly Pick<Delivery, 'topic' | 'partition'>[],
): Promise<ReadonlyMap<string, { readonly block: number; readonly digest: Uint8Array }>> {
  const { rows } = await sql<{ topic: string; partition: number; block: number; digest: Buffer }>`
    select p.topic, p.partition, c.block, c.digest
    from unnest(${places.map(({ topic }) => topic)}::text[], ${places.map(({ partition }) => partition)}::int[]) as p (topic, partition)
    cross join lateral (
      select b.block, substring(b.digests from octet_length(b.digests) - ${DIGEST_BYTES - 1}) as digest
      from chain_blocks b where b.topic = p.topic and b.partition = p.partition order by block desc limit 1
    ) c`.execute(trx);
  return new Map(rows.map(({ topic, partition, ...last }) => [`${topic} ${partition}`, last]));
}

/** Cuts the digests of a block apart. */
export function splitDigests(bytes: Uint8Array): Uint8Array[] {
  const digests: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += DIGEST_BYTES) digests.push(bytes.subarray(at, at + DIGEST_BYTES));
  return digests;
}
