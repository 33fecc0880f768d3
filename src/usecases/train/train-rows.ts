import type { BlobStore } from '../../blobs/blob-store.ts';
import type { EventLog } from '../../log/event-log.ts';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { pictureReader } from '../../projections/images/draw-picture.ts';
import { images } from '../../projections/images/images.ts';
import type { ShownPrompt } from '../../projections/prompts/read-prompts.ts';
import { readBatchesById } from '../../projections/training-pool/read-batches.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type PictureOf, type StepRow, stepRowsOf } from '../../training/backends/step-row.ts';
import { readBatchRows, readRowsOfNow } from '../../training/rows/read-batch-rows.ts';
import { readPromptsOfRows } from '../../training/rows/read-prompts-of-rows.ts';
import type { ReadRows } from './train-loop.ts';

const CATCH_UP_MS = 60_000;

interface Where {
  readonly db: Db;
  readonly blobs: BlobStore;
  /** Whose end the images are waited for, where prompts show some; what is folded is enough without it. */
  readonly log?: Pick<EventLog, 'ends'>;
}

/**
 * Reads the rows of a planned batch, when all read models hold what its planner had read, and the position of their rewards:
 * both in one snapshot, so that the same rows can be read again when a reward was revised since.
 */
export async function readBatchSteps(
  { db, blobs, log }: Where,
  batchId: string,
  signal: AbortSignal,
  chats: 'with-chats' | 'without-chats' = 'without-chats',
): Promise<Required<ReadRows>> {
  const [batch] = await readBatchesById(db, [batchId]);
  if (!batch) throw new Error(`no batch ${batchId} is planned, or its plan is not folded yet`);
  const position = parsePosition(batch.position);
  await waitUntilProjected(db, position, { timeoutMs: CATCH_UP_MS, signal, pollMs: 10 });
  const { rewardsAt, rows } = await readRowsOfNow(db, blobs, batchId, position);
  if (chats === 'without-chats') return { rewardsAt, rows: stepRowsOf(rows) };
  const prompts = await readPromptsOfRows(db, blobs, rows);
  // Segments lie on a topic of their own, which the position of a batch does not name.
  if (log && [...prompts.values()].some(showsPicture))
    await waitUntilProjected(db, await log.ends(topicsOf(images)), { timeoutMs: CATCH_UP_MS, signal, projections: [images] });
  const draw = pictureReader({ db, blobs });
  const pictureOf: PictureOf = ({ treeId, stepId: id, imageId }) => ({
    imageId,
    png: async () => (await draw({ imageId, steps: [{ treeId, id }] })).png,
  });
  return { rewardsAt, rows: stepRowsOf(rows, prompts, pictureOf) };
}

function showsPicture({ messages }: ShownPrompt): boolean {
  return messages.some(({ parts }) => parts.some(({ kind }) => kind === 'image'));
}

/** Reads the rows of a batch with their rewards as of a position. The read models must hold all of it. */
export async function readBatchStepsAt(
  { db, blobs }: Where,
  { batchId, rewardsAt }: { readonly batchId: string; readonly rewardsAt: string },
): Promise<readonly StepRow[]> {
  return stepRowsOf(await readBatchRows(db, blobs, batchId, parsePosition(rewardsAt)));
}
