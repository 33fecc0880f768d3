import { type RawBuilder, sql } from 'kysely';
import type { CopiedRow } from '../../postgres/copy-binary-reader.ts';
import type { Db } from '../../postgres/database.ts';
import { AS_COPIED } from '../../postgres/pool-connection.ts';
import { keyInTree, type OfTree } from '../of-tree.ts';
import { type TokenViews, tokenViewsOf } from './token-bytes.ts';

const BLOCK = 1_048_576;
const ALIGNED = 4;

/**
 * Reads the token arrays of steps that keep them as bytes, by `keyInTree`; other steps are left out. The arrays of many steps lie
 * in one block of memory, written once: as rows of a result each would be text first, and a buffer of its own.
 */
export async function readTokenBytes(db: Db, steps: readonly OfTree[]): Promise<ReadonlyMap<string, TokenViews>> {
  const tokens = new Map<string, TokenViews>();
  if (steps.length === 0) return tokens;
  let block = new ArrayBuffer(0);
  let at = 0;
  const query = sql`
    select t.place::int4, s.token_bytes
    from unnest(${listOf(steps.map(({ treeId }) => treeId))}, ${listOf(steps.map(({ id }) => id))}) with ordinality as t(tree_id, id, place)
    join steps s on s.step_id = t.id and s.tree_id = t.tree_id where s.token_bytes is not null`;
  const { rows } = await db.executeQuery<CopiedRow>({ ...query.compile(db), parameters: [AS_COPIED] });
  for (const [place, bytes] of rows) {
    if (!place || !bytes) continue;
    if (at + bytes.length > block.byteLength) {
      block = new ArrayBuffer(Math.max(BLOCK, bytes.length));
      at = 0;
    }
    new Uint8Array(block, at, bytes.length).set(bytes);
    const step = steps[place.readInt32BE() - 1];
    if (step) tokens.set(keyInTree(step.treeId, step.id), tokenViewsOf(block, at));
    at += Math.ceil(bytes.length / ALIGNED) * ALIGNED;
  }
  return tokens;
}

/** Ids as a literal: a COPY has no parameters. */
function listOf(ids: readonly string[]): RawBuilder<unknown> {
  return sql`${sql.lit(`{${ids.join(',')}}`)}::uuid[]`;
}
