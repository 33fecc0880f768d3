import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { BLOCK, splitDigests } from './journal-chain.ts';

/** The last record of a partition's chain, and the digest that speaks for it and all before it. */
export interface ChainHead {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Hexadecimal. */
  readonly digest: string;
}

/** Reads the head of every partition's chain. */
export async function readHeads(db: Db): Promise<readonly ChainHead[]> {
  const { rows } = await sql<Omit<ChainHead, 'digest'> & { digest: Buffer }>`
    select distinct on (topic, partition) topic, partition, offsets[cardinality(offsets)] as "offset",
           substring(digests from octet_length(digests) - 31) as digest
    from chain_blocks order by topic, partition, block desc`.execute(db);
  return rows.map(({ digest, ...place }) => ({ ...place, digest: digest.toString('hex') }));
}

/** Returns the digest of the chain at a place, in hexadecimal; null where it holds none. */
export async function readDigestAt(
  db: Db,
  { topic, partition, offset }: Pick<ChainHead, 'topic' | 'partition' | 'offset'>,
): Promise<string | null> {
  const { rows } = await sql<{ offsets: readonly number[]; digests: Buffer }>`
    select to_json(offsets) as offsets, digests from chain_blocks
    where topic = ${topic} and partition = ${partition} and block = ${Math.floor(offset / BLOCK)}`.execute(db);
  const digest = rows[0] && splitDigests(rows[0].digests)[rows[0].offsets.indexOf(offset)];
  return digest ? Buffer.from(digest).toString('hex') : null;
}
