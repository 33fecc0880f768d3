import type { Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { readRewardsPosition } from '../../projections/rewards/rewards-at.ts';
import { readProjected } from '../../projections/wait-until.ts';
import type { BatchRows } from './batch-rows.ts';
import { type BatchPart, readBatchRows } from './read-batch-rows.ts';
import type { BlobReader } from './read-blob.ts';

/**
 * Reads a planned batch with the rewards in force, and their position: both in one snapshot, so that the same rows can be read
 * again when a reward was revised since. @param position what the snapshot must hold: without it, what a database lost by a crash
 * would pass for what was never recorded. @throws RowsError; ProjectionsBehind.
 */
export async function readRowsOfNow(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  position: Offsets = new Map(),
  part: BatchPart = {},
): Promise<{ readonly rows: BatchRows; readonly rewardsAt: string }> {
  return readProjected(db, position, async (trx) => ({
    rewardsAt: await readRewardsPosition(trx),
    rows: await readBatchRows(trx, blobs, batchId, 'now', part),
  }));
}
