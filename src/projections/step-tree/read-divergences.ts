import { sql } from 'kysely';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';

export interface DivergenceRecord {
  readonly id: string;
  readonly treeId: string;
  readonly stepId: string;
  readonly field: string;
  /** Texts are '' where `blobs` names their field: they lie in the blob store. */
  readonly recorded: string;
  readonly replayed: string;
  readonly occurredAt: Date;
  readonly blobs: Blobs | null;
}

/** Reads what replays of trees showed instead of what was recorded, oldest first. */
export async function readDivergences(db: Db, trees: readonly string[]): Promise<readonly DivergenceRecord[]> {
  const { rows } = await sql<DivergenceRecord>`
    select event_id as id, tree_id, step_id, field, recorded, replayed, occurred_at, blobs
    from divergences where tree_id = any(${[...trees]}::uuid[])
    order by occurred_at, event_id`.execute(db);
  return rows;
}
