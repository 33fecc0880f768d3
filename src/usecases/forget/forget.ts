import { createAppender } from '../../append/appender.ts';
import { openFileBlobStore } from '../../blobs/file-blob-store.ts';
import { derivedId } from '../../events/derived-id.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { nextSequence } from '../../platform/next-sequence.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { countKeys, destroyKeys, keysOf } from '../../postgres/stream-keys.ts';
import { dropAllSnapshots } from '../../projections/as-of/snapshot-schema.ts';
import {
  countClear,
  type Forgettable,
  type ForgettableRun,
  readForgettable,
  readForgottenKeys,
  readOwnBlobs,
  readOwnSegments,
  readReleasedFrom,
} from '../../projections/forgetting/read-forgettable.ts';
import { projections } from '../../projections/registry.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type Rebuilding, rebuildProjection, retireVersions } from '../rebuild/rebuild-projection.ts';

/** What a forgetting takes away, counted before it begins. */
export interface ForgetPlan {
  readonly runs: readonly ForgettableRun[];
  /** Streams of the history segments that nothing else shows. */
  readonly segments: readonly string[];
  /** Keys in force that are destroyed. */
  readonly keys: number;
  /** Keys that an earlier forgetting destroyed without coming to its end. */
  readonly unfinished: number;
  /** Events whose payload lies in the clear, which nothing can make the log forget. */
  readonly clear: number;
  readonly blobs: readonly string[];
  /** Released datasets with examples of these runs: their files are not part of the record. */
  readonly datasets: readonly string[];
}

/** The read models whose tables hold payload. */
const HOLDING = ['runs', 'step-tree', 'rewards', 'revisions', 'replays', 'images', 'prompts'];
const BLOB_GRACE_MS = 60_000; // longer than between the put of a blob and the append of the event that names it
const PART = 5_000; // trees or keys in one event

/** Counts what would be forgotten; changes nothing. */
export async function planForgetting({ database: { db } }: Platform, asked: Forgettable): Promise<ForgetPlan> {
  const runs = await readForgettable(db, asked);
  const trees = runs.flatMap((run) => run.trees);
  const segments = await readOwnSegments(db, trees);
  const streams = streamsOf({ runs, segments });
  let unfinished = 0;
  for (const run of runs) unfinished += (await unrecorded(db, run, streamsOfRun({ runs, segments }, run))).length;
  return {
    runs,
    segments,
    keys: await countKeys(db, streams),
    unfinished,
    clear: await countClear(db, streams),
    blobs: await readOwnBlobs(db, streams),
    datasets: await readReleasedFrom(
      db,
      runs.map(({ runId }) => runId),
    ),
  };
}

type Streams = Pick<ForgetPlan, 'runs' | 'segments'>;

function streamsOf(plan: Streams): readonly string[] {
  return plan.runs.flatMap((run) => streamsOfRun(plan, run));
}

/** The streams that are recorded as forgotten with a run: shared segments go with the first one. */
function streamsOfRun({ runs, segments }: Streams, run: ForgettableRun): readonly string[] {
  return [...(run.whole ? [run.runId] : []), ...run.trees, ...(run === runs[0] ? segments : [])];
}

/** Reads the destroyed keys of streams whose end is not recorded in their run. */
async function unrecorded(db: Db, { runId }: ForgettableRun, streams: readonly string[]) {
  const recorded = await readForgottenKeys(db, runId);
  return (await keysOf(db, streams)).filter(({ keyId, destroyed }) => destroyed && !recorded.has(keyId));
}

/** Something of what is asked for cannot be forgotten. */
export class CannotForget extends Error {
  override readonly name = 'CannotForget';
}

export interface Forgotten {
  readonly keys: number;
  readonly blobs: number;
  /** Blobs that were put within the last minute: an event that names them may be on its way. */
  readonly blobsLeft: number;
}

/**
 * Forgets what a plan names: destroys the keys, folds the read models that hold payload again without it, drops what they were
 * before and every snapshot, deletes blobs that nothing else refers to, and records it. Ids, hashes, the chain and counts stay as
 * they are. Each part may be done again: one that was killed anywhere is continued by the same call. The read models must be
 * projected meanwhile.
 * @throws CannotForget when payload lies in the clear.
 */
export async function forget(
  platform: Platform,
  plan: ForgetPlan,
  {
    by,
    reason,
    blobGraceMs = BLOB_GRACE_MS,
    ...rebuilding
  }: { readonly by: string; readonly reason: string; readonly blobGraceMs?: number } & Rebuilding,
): Promise<Forgotten> {
  const { db } = platform.database;
  if (plan.clear > 0)
    throw new CannotForget(
      `the payload of ${plan.clear} events lies in the log in the clear and cannot be forgotten: it was appended while sealing was off; turn it on by \`espalier seal on\` for what comes, and remove the rest with the database or the topics that hold it`,
    );
  const keys = await destroyKeys(db, streamsOf(plan));
  for (const name of HOLDING) {
    const projection = projections.find((candidate) => candidate.name === name);
    if (!projection) throw new Error(`no projection ${name}`);
    await rebuildProjection(platform, projection, { ...rebuilding, differing: 'accept' });
    await retireVersions(platform, projection); // what was live before holds the payload
  }
  await dropAllSnapshots(db);
  const blobs = openFileBlobStore(platform.config.blobs);
  let deleted = 0;
  for (const name of plan.blobs) if (await blobs.remove(name, blobGraceMs)) deleted++;
  await record(platform, plan, { by, reason, blobs: deleted });
  return { keys: keys.length, blobs: deleted, blobsLeft: plan.blobs.length - deleted };
}

async function record(
  platform: Platform,
  plan: ForgetPlan,
  { by, reason, blobs }: { readonly by: string; readonly reason: string; readonly blobs: number },
): Promise<void> {
  const { database, log, stamp } = platform;
  const appender = createAppender({
    ...{ log, blobs: platform.blobs, stamp, producer: { name: 'forget', version: CODE_VERSION }, clock: Date.now },
    sequenceOf: (stream, topic) => nextSequence(database.db, 'forget', stream, topic),
  });
  for (const run of plan.runs) {
    const keys = (await unrecorded(database.db, run, streamsOfRun(plan, run))).map(({ keyId }) => keyId);
    for (let i = 0; i < keys.length; i += PART) {
      const part = keys.slice(i, i + PART);
      const trees = run.trees.slice(i, i + PART);
      const data = { runId: run.runId, trees, keys: part, blobs: i === 0 ? blobs : 0, by, reason };
      const id = derivedId('PayloadForgotten', run.runId, ...part);
      const receipts = await appender.append([{ type: 'PayloadForgotten', id, correlationId: run.runId, data }]);
      await waitUntilProjected(database.db, positionAfter(receipts), { timeoutMs: 60_000 });
    }
  }
}
