import type { BlobStore } from '../blobs/blob-store.ts';
import { parsePosition } from '../log/position.ts';
import type { Db } from '../postgres/database.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { readStepRows } from '../training/backends/read-step-rows.ts';
import type { StepRow } from '../training/backends/step-row.ts';

const CATCH_UP_MS = 60_000;

/** Reads the rows of a planned batch, when all read models hold what its planner had read. */
export async function readBatchSteps(
  { db, blobs }: { readonly db: Db; readonly blobs: BlobStore },
  batchId: string,
  signal: AbortSignal,
  chats: 'with-chats' | 'without-chats' = 'without-chats',
): Promise<readonly StepRow[]> {
  const { position } = await db
    .selectFrom('batches')
    .select('position')
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow();
  await waitUntilProjected(db, parsePosition(position), { timeoutMs: CATCH_UP_MS, signal, pollMs: 10 });
  const samples = await db
    .selectFrom('batch_samples')
    .select('rollout_id')
    .where('batch_id', '=', batchId)
    .orderBy('place')
    .execute();
  return readStepRows(
    db,
    blobs,
    samples.map(({ rollout_id }) => rollout_id),
    chats,
  );
}
