import type { Db } from '../../postgres/database.ts';
import { readRewardsPosition } from '../../projections/rewards/rewards-at.ts';
import type { BatchRows } from './batch-rows.ts';
import { readBatchRows } from './read-batch-rows.ts';
import type { BlobReader } from './read-blob.ts';

/**
 * Reads a planned batch with the rewards in force, and their position: both in one snapshot, so that the same
 * rows can be read again when a reward was revised since. @throws RowsError.
 */
export async function readRowsOfNow(
  db: Db,
  blobs: BlobReader,
  batchId: string,
): Promise<{ readonly rows: BatchRows; readonly rewardsAt: string }> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => ({
      rewardsAt: await readRewardsPosition(trx),
      rows: await readBatchRows(trx, blobs, batchId),
    }));
}
