import { sql } from 'kysely';
import { eachCopied } from '../../postgres/copy-out.ts';
import type { Db } from '../../postgres/database.ts';
import { type TokenViews, tokenViewsOf } from './token-bytes.ts';

const BLOCK = 1_048_576;
const ALIGNED = 4;

/**
 * Reads the token arrays of steps that keep them as bytes, by their ids; other steps are left out. The arrays of many steps lie
 * in one block of memory, written once: as rows of a result each would be text first, and a buffer of its own.
 */
export async function readTokenBytes(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, TokenViews>> {
  const tokens = new Map<string, TokenViews>();
  if (ids.length === 0) return tokens;
  let block = new ArrayBuffer(0);
  let at = 0;
  const query = sql`
    select t.place::int4, s.token_bytes from unnest(${sql.lit(`{${ids.join(',')}}`)}::uuid[]) with ordinality as t(id, place)
    join steps s on s.step_id = t.id where s.token_bytes is not null`;
  await eachCopied(db, query, ([place, bytes]) => {
    if (!place || !bytes) return;
    if (at + bytes.length > block.byteLength) {
      block = new ArrayBuffer(Math.max(BLOCK, bytes.length));
      at = 0;
    }
    new Uint8Array(block, at, bytes.length).set(bytes);
    tokens.set(ids[place.readInt32BE() - 1] ?? '', tokenViewsOf(block, at));
    at += Math.ceil(bytes.length / ALIGNED) * ALIGNED;
  });
  return tokens;
}
