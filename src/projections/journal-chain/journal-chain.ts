import { sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { recordset } from '../../postgres/bulk.ts';
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
  ...{ topic: 'text', partition: 'int', block: 'bigint' },
  ...{ offsets: 'bigint[]', eventIds: 'uuid[]', digests: 'text' },
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const partitions = groupBy(batch, ({ topic, partition }) => `${topic} ${partition}`);
  const last = await lastDigests(
    trx,
    [...partitions.values()].flatMap(([first]) => (first ? [first] : [])),
  );
  const additions = [...partitions].flatMap(([place, deliveries]) => chain(deliveries, last.get(place) ?? CHAIN_START));
  if (additions.length === 0) return [];
  await sql`
    insert into chain_blocks as b (topic, partition, block, offsets, event_ids, digests)
    select topic, partition, block, offsets, event_ids, decode(digests, 'hex') from ${recordset(additions, TYPES)}
    on conflict (topic, partition, block) do update set offsets = b.offsets || excluded.offsets,
      event_ids = b.event_ids || excluded.event_ids, digests = b.digests || excluded.digests`.execute(trx);
  return [];
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

async function lastDigests(
  trx: Trx,
  places: readonly Pick<Delivery, 'topic' | 'partition'>[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const { rows } = await sql<{ topic: string; partition: number; digest: Buffer }>`
    select p.topic, p.partition, c.digest
    from unnest(${places.map(({ topic }) => topic)}::text[], ${places.map(({ partition }) => partition)}::int[]) as p (topic, partition)
    cross join lateral (
      select substring(b.digests from octet_length(b.digests) - ${DIGEST_BYTES - 1}) as digest
      from chain_blocks b where b.topic = p.topic and b.partition = p.partition order by block desc limit 1
    ) c`.execute(trx);
  return new Map(rows.map(({ topic, partition, digest }) => [`${topic} ${partition}`, digest]));
}

/** Cuts the digests of a block apart. */
export function splitDigests(bytes: Uint8Array): Uint8Array[] {
  const digests: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += DIGEST_BYTES) digests.push(bytes.subarray(at, at + DIGEST_BYTES));
  return digests;
}
