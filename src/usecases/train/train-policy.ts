import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { EventLog } from '../../log/event-log.ts';
import { parsePosition } from '../../log/position.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { pictureReader } from '../../projections/images/draw-picture.ts';
import { images } from '../../projections/images/images.ts';
import { countMoves } from '../../projections/moved-cursors.ts';
import type { StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import { readBatchesById } from '../../projections/training-pool/read-batches.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import { isOutage, isTransientFault } from '../../projections/transient-fault.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { retryTransient } from '../../runtime/retry-transient.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { type PictureOf, type StepRow, stepRowsOf } from '../../training/backends/step-row.ts';
import { createRelay } from '../../training/outbox/relay.ts';
import { TrainingRefused } from '../../training/read-plan-request.ts';
import { readBatchRows, readCurrentRows } from '../../training/rows/read-batch-rows.ts';
import { readPromptsOfRows } from '../../training/rows/read-prompts-of-rows.ts';
import { checkpointKeeper } from './keep-checkpoints.ts';
import { makeFirstVersion, openBackend, registerFirst, trainerPlan } from './open-backend.ts';
import { openLeaseService } from './open-lease-service.ts';
import { type BatchFailure, type ReadRows, type TrainLoopResult, trainLoop } from './train-loop.ts';

interface PolicyTraining {
  readonly policyId: string;
  readonly consumer: string;
  /** Ends when the policy has reached this version; null: trains until the signal. */
  readonly untilVersion: number | null;
  readonly ttlMs?: number;
  readonly signal: AbortSignal;
  readonly onUpdate?: (trained: TrainLoopResult) => void;
  readonly onTrouble?: (trouble: BatchFailure) => void;
  /** Called for every fault that is waited out: the database or the log is away, a disk is full. */
  readonly onFault?: (error: unknown) => void;
}

const CATCH_UP_MS = 60_000;
const LOOK_MS = 1_000; // a notice wakes it at once; this is for notices that were lost

/**
 * Trains a declared policy on its batches as they are planned, in this process. A projector must be running. Any number may run
 * for one policy: the lease service returns a batch to one of them. What passes by itself is waited out. Returns how many batches
 * were trained since. @throws TrainingRefused for a policy that is not declared, or for other trainers; TrainingStuck,
 * CheckpointDamaged.
 */
export async function trainPolicy(platform: Platform, training: PolicyTraining): Promise<number> {
  const { signal, onFault = () => undefined } = training;
  return retryTransient(() => trainFromRecord(platform, training), {
    passes: isTransientFault,
    unlimited: isOutage,
    signal,
    onFault,
  });
}

async function trainFromRecord(platform: Platform, training: PolicyTraining): Promise<number> {
  const { policyId, signal } = training;
  const { db } = platform.database;
  const { blobs, log } = platform;
  await createRelay({ db, log }).flush(); // what a killed trainer decided and did not record comes first
  await waitUntilProjected(db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
  const [lineage] = await readLineages(db, [policyId]);
  if (!lineage)
    throw new TrainingRefused(`the policy ${policyId} is not declared for training; begin it with \`espalier train\``);
  const plan = trainerPlan.safeParse(lineage.trainer);
  if (!plan.success)
    throw new TrainingRefused(`the policy ${policyId} was declared for other trainers than ours: ${z.prettifyError(plan.error)}`);
  const backend = await openBackend(plan.data, platform.config, signal);
  const chats = plan.data.backend === 'torch' ? 'with-chats' : 'without-chats';
  if (lineage.newestVersion === null) await makeFirst(platform, policyId, backend);
  const notices = await countMoves(platform.directUrl, ['training']); // plans of batches, ends of leases
  const keeping = keepAfterwards(platform, plan.data.backend, training);
  try {
    const { untilVersion } = training;
    let seen = notices.count; // as it was before the service was asked: what moved since wakes at once
    return await trainLoop(
      {
        policyId,
        consumer: training.consumer,
        service: openLeaseService(platform),
        blobs,
        backend,
        settings: plan.data.settings,
        ...(plan.data.backend === 'torch' && plan.data.torch.newLogProbs !== 'skipped' ? { logProbs: 'after' as const } : {}),
        ...(training.ttlMs === undefined ? {} : { ttlMs: training.ttlMs }),
        ...(untilVersion === null ? {} : { updates: Math.max(0, untilVersion - (lineage.newestVersion ?? 0)) }),
        onUpdate(trained) {
          keeping.after(trained.ordinal);
          training.onUpdate?.(trained);
        },
        ...(training.onTrouble ? { onTrouble: training.onTrouble } : {}),
        readRows: ({ batchId }, either) => readBatchSteps({ db, blobs, log }, batchId, either, chats),
        async idle(either) {
          await notices.beyond(seen, LOOK_MS, either);
          seen = notices.count;
        },
      },
      signal,
    );
  } finally {
    await notices.close();
    await keeping.done();
    await backend.close();
  }
}

/** Who declares a language model over HTTP has no machine that opens it: its trainer makes version 0, as it begins. */
async function makeFirst(platform: Platform, policyId: string, backend: Backend): Promise<void> {
  try {
    await registerFirst(platform, await makeFirstVersion(platform.blobs, backend, policyId));
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/**
 * Removes checkpoints that nobody needs after each update, at the same time as the next one; the read models may lie a version
 * behind, and one more stays. That it fails stops no training: it is reported, and tried again.
 */
function keepAfterwards(platform: Platform, backend: 'linear' | 'torch', { onTrouble }: PolicyTraining) {
  const keep = checkpointKeeper(platform);
  let last: Promise<unknown> = Promise.resolve();
  return {
    after(ordinal: number): void {
      if (backend !== 'torch') return; // a linear checkpoint is a blob of the record
      last = last.then(keep).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        onTrouble?.({ ordinal, reason: `old checkpoints stay: ${reason}` });
      });
    },
    done: () => last,
  };
}

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
  const { rewardsAt, rows } = await readCurrentRows(db, blobs, batchId, position);
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

function showsPicture({ messages }: StoredPrompt): boolean {
  return messages.some(({ parts }) => parts.some(({ kind }) => kind === 'image'));
}

/** Reads the rows of a batch with their rewards as of a position. The read models must hold all of it. */
export async function readBatchStepsAt(
  { db, blobs }: Where,
  { batchId, rewardsAt }: { readonly batchId: string; readonly rewardsAt: string },
): Promise<readonly StepRow[]> {
  return stepRowsOf(await readBatchRows(db, blobs, batchId, parsePosition(rewardsAt)));
}
