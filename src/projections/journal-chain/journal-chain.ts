import { sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Poison, Projection } from '../projection.ts';
import { CHAIN_START, chainDigest, DIGEST_BYTES } from './chain.ts';

export const BLOCK = 256; // offsets; a block is rewritten while it fills

/**
 * Chains the records of each partition, so that what was changed, taken away or put in afterwards is seen (`espalier verify`).
 */
export const journalChain: Projection = {
  name: 'journal-chain',
  version: 1,
  handles: Object.keys(catalogue) as EventType[], // the keys of the catalogue are its types
  keepsSuperseded: true,
  project,
};

interface Block {
  readonly topic: string;
  readonly partition: number;
  readonly block: number;
  readonly offsets: number[];
  readonly ids: string[];
  readonly digests: Uint8Array[];
}

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const partitions = groupBy(batch, ({ topic, partition }) => `${topic} ${partition}`);
  const last = await lastBlocks(
    trx,
    [...partitions.values()].flatMap(([first]) => (first ? [first] : [])),
  );
  const blocks = [...partitions].flatMap(([place, deliveries]) => chain(deliveries, last.get(place)));
  if (blocks.length === 0) return [];
  const rows = blocks.map(
    ({ topic, partition, block, offsets, ids, digests }) =>
      sql`(${topic}::text, ${partition}::int, ${block}::bigint, ${offsets}::bigint[], ${ids}::uuid[], ${Buffer.concat(digests)}::bytea)`,
  );
  await sql`
    insert into chain_blocks (topic, partition, block, offsets, event_ids, digests) values ${sql.join(rows)}
    on conflict (topic, partition, block)
    do update set offsets = excluded.offsets, event_ids = excluded.event_ids, digests = excluded.digests`.execute(trx);
  return [];
}

/** Chains the records of one partition behind its last block, to which the first of them may still belong. */
function chain(deliveries: readonly Delivery[], last: Block | undefined): readonly Block[] {
  const blocks: Block[] = [];
  let before = last?.digests.at(-1) ?? CHAIN_START;
  let current = last;
  for (const { topic, partition, offset, event, body } of deliveries) {
    const block = Math.floor(offset / BLOCK);
    if (current?.block !== block) current = { topic, partition, block, offsets: [], ids: [], digests: [] };
    if (blocks.at(-1) !== current) blocks.push(current);
    before = chainDigest(before, offset, body);
    current.offsets.push(offset);
    current.ids.push(event.id);
    current.digests.push(before);
  }
  return blocks;
}

async function lastBlocks(
  trx: Trx,
  places: readonly Pick<Delivery, 'topic' | 'partition'>[],
): Promise<ReadonlyMap<string, Block>> {
  const { rows } = await sql<Omit<Block, 'digests'> & { digests: Buffer }>`
    select c.topic, c.partition, c.block, to_json(c.offsets) as offsets, to_json(c.event_ids) as ids, c.digests
    from unnest(${places.map(({ topic }) => topic)}::text[], ${places.map(({ partition }) => partition)}::int[]) as p (topic, partition)
    cross join lateral (
      select * from chain_blocks b where b.topic = p.topic and b.partition = p.partition order by block desc limit 1
    ) c`.execute(trx);
  return new Map(rows.map((row) => [`${row.topic} ${row.partition}`, { ...row, digests: splitDigests(row.digests) }]));
}

/** Cuts the digests of a block apart. */
export function splitDigests(bytes: Uint8Array): Uint8Array[] {
  const digests: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += DIGEST_BYTES) digests.push(bytes.subarray(at, at + DIGEST_BYTES));
  return digests;
}
