import type { Draft } from '../../append/appender.ts';
import { openFileBlobStore } from '../../blobs/file-blob-store.ts';
import { derivedId } from '../../events/derived-id.ts';
import { positionAfter } from '../../log/position.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { destroyKeys } from '../../postgres/stream-keys.ts';
import { dropAllSnapshots } from '../../projections/as-of/snapshot-schema.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { drawnSegments, dropDrawn } from '../collect/open-prompter.ts';
import type { Rebuilding } from '../rebuild/rebuild-projection.ts';
import { type ForgetPlan, streamsOf, streamsOfRun, unrecorded } from './plan-forgetting.ts';
import { purgeReadModels } from './purge-read-models.ts';

const BLOB_GRACE_MS = 60_000; // longer than between the put of a blob and the append of the event that names it
const PART = 5_000; // keys in one event
const AT_ONCE = 100; // events in one append

/** Something of what is asked for cannot be forgotten. */
export class CannotForget extends Error {
  override readonly name = 'CannotForget';
}

export interface Forgetting extends Rebuilding {
  readonly by: string;
  readonly reason: string;
  /** What is done where events lie in the clear: refused, or left as they are while what is sealed is forgotten. */
  readonly clear?: 'refuse' | 'leave';
  readonly blobGraceMs?: number;
  /** Called after each step, by its name. What it throws ends the forgetting there, as a kill would. */
  readonly after?: (step: string) => void | Promise<void>;
}

export interface Forgotten {
  readonly keys: number;
  readonly blobs: number;
  /** Blobs that were put within the last minute: an event that names them may be on its way. */
  readonly blobsLeft: number;
}

/**
 * Forgets what a plan names: destroys the keys, folds the read models that hold payload again without it, drops what they were
 * before and every snapshot, deletes blobs that nothing else refers to and drawn segments, and records it. Ids, hashes, the chain
 * and counts stay as they are. Each part may be done again: one that was killed anywhere is continued by the same call. The read
 * models must be projected meanwhile.
 * @throws CannotForget when payload lies in the clear, unless it may be left.
 */
export async function forget(platform: Platform, plan: ForgetPlan, options: Forgetting): Promise<Forgotten> {
  const { by, reason, clear = 'refuse', blobGraceMs = BLOB_GRACE_MS, after = () => undefined, ...rebuilding } = options;
  const { db } = platform.database;
  if (plan.clear > 0 && clear === 'refuse')
    throw new CannotForget(
      `the payload of ${plan.clear} events lies in the log in the clear and cannot be forgotten: it was appended while sealing was off; turn it on by \`espalier seal on\` for what comes, and remove the rest with the database or the topics that hold it`,
    );
  const keys = await destroyKeys(db, streamsOf(plan));
  await after('keys');
  await purgeReadModels(platform, rebuilding, after);
  await dropAllSnapshots(db);
  await after('snapshots');
  const deleted = await deleteBlobs(platform, plan.blobs, blobGraceMs);
  await after('blobs');
  await deleteDrawn(platform, plan.segments);
  await after('drawn segments');
  await record(platform, plan, { by, reason, blobs: deleted });
  await after('record');
  return { keys: keys.length, blobs: deleted, blobsLeft: plan.blobs.length - deleted };
}

async function deleteBlobs({ config }: Platform, names: readonly string[], graceMs: number): Promise<number> {
  const blobs = openFileBlobStore(config.blobs);
  let deleted = 0;
  for (const name of names) if (await blobs.remove(name, graceMs)) deleted++;
  return deleted;
}

/** Deletes the drawn segments of the folder that all processes share, and of the memory of this one. */
async function deleteDrawn(platform: Platform, segments: readonly string[]): Promise<void> {
  const drawn = drawnSegments(platform);
  for (const id of segments) await drawn.remove(id);
  dropDrawn(platform);
}

async function record(
  platform: Platform,
  plan: ForgetPlan,
  { by, reason, blobs }: { readonly by: string; readonly reason: string; readonly blobs: number },
): Promise<void> {
  const { database } = platform;
  const appender = openAppender(platform, 'forget');
  const drafts: Draft[] = [];
  for (const run of plan.runs) {
    const keys = await unrecorded(database.db, run, streamsOfRun(plan, run));
    for (let i = 0; i < keys.length; i += PART) {
      const part = keys.slice(i, i + PART);
      const streams = new Set(part.map(({ stream }) => stream));
      const data = {
        runId: run.runId,
        trees: run.trees.filter((tree) => streams.has(tree)),
        keys: part.map(({ keyId }) => keyId),
        blobs: drafts.length === 0 ? blobs : 0,
        by,
        reason,
      };
      const id = derivedId('PayloadForgotten', run.runId, ...data.keys);
      drafts.push({ type: 'PayloadForgotten', id, correlationId: run.runId, data });
    }
  }
  for (let i = 0; i < drafts.length; i += AT_ONCE) {
    const receipts = await appender.append(drafts.slice(i, i + AT_ONCE));
    await waitUntilProjected(database.db, positionAfter(receipts), { timeoutMs: 60_000 });
  }
}
