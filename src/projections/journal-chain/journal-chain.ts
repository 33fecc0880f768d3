import { sql } from 'kysely';
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
  readonly block: number;
  readonly offsets: number[];
  readonly ids: string[];
  readonly digests: Uint8Array[];
}

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const [first] = batch;
  if (!first) return [];
  const { topic, partition } = first;
  const last = await lastBlock(trx, topic, partition);
  let before = last?.digests.at(-1) ?? CHAIN_START;
  const blocks: Block[] = [];
  let current = last;
  for (const { offset, event, body } of batch) {
    const block = Math.floor(offset / BLOCK);
    if (current?.block !== block) current = { block, offsets: [], ids: [], digests: [] };
    if (blocks.at(-1) !== current) blocks.push(current);
    before = chainDigest(before, offset, body);
    current.offsets.push(offset);
    current.ids.push(event.id);
    current.digests.push(before);
  }
  for (const { block, offsets, ids, digests } of blocks) {
    await sql`
      insert into chain_blocks (topic, partition, block, offsets, event_ids, digests)
      values (${topic}, ${partition}, ${block}, ${offsets}::bigint[], ${ids}::uuid[], ${Buffer.concat(digests)})
      on conflict (topic, partition, block)
      do update set offsets = excluded.offsets, event_ids = excluded.event_ids, digests = excluded.digests`.execute(trx);
  }
  return [];
}

async function lastBlock(trx: Trx, topic: string, partition: number): Promise<Block | undefined> {
  const { rows } = await sql<{ block: number; offsets: number[]; ids: string[]; digests: Buffer }>`
    select block, to_json(offsets) as offsets, to_json(event_ids) as ids, digests from chain_blocks
    where topic = ${topic} and partition = ${partition} order by block desc limit 1`.execute(trx);
  const row = rows[0];
  return row && { block: row.block, offsets: row.offsets, ids: row.ids, digests: splitDigests(row.digests) };
}

/** Cuts the digests of a block apart. */
export function splitDigests(bytes: Uint8Array): Uint8Array[] {
  const digests: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += DIGEST_BYTES) digests.push(bytes.subarray(at, at + DIGEST_BYTES));
  return digests;
}
