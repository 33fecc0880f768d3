import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { type BatchManifest, RowsError } from './batch-rows.ts';

/** Reads what a batch was planned to hold, in the order of its manifest. @throws RowsError `unknown-batch`. */
export async function readManifest(db: Db, batchId: string): Promise<BatchManifest> {
  const { rows } = await sql<Row>`
    select lineage_id, policy_id, ordinal, policy_version, estimator, rules, seed, samples, shards, manifest_hash,
      (select coalesce(jsonb_agg(g.members order by g.group_ordinal), '[]') from (
        select s.group_ordinal, jsonb_build_object('treeId', s.tree_id, 'rolloutIds', jsonb_agg(s.rollout_id order by s.place)) as members
        from batch_samples s where s.batch_id = b.batch_id group by s.group_ordinal, s.tree_id) g) as groups
    from batches b where batch_id = ${batchId}::uuid`.execute(db);
  const [row] = rows;
  if (!row) throw new RowsError('unknown-batch', `no batch ${batchId} is planned, or its plan is not folded yet`);
  const held = row.groups.reduce((sum, { rolloutIds }) => sum + rolloutIds.length, 0);
  if (held !== row.samples)
    throw new RowsError('incomplete', `batch ${batchId} has ${row.samples} samples, and ${held} are on record`);
  const { samples: _, ...manifest } = row;
  return { batchId, ...manifest };
}

type Row = Omit<BatchManifest, 'batchId'> & { readonly samples: number };
