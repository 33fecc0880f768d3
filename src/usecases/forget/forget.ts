import type { Draft } from '../../append/appender.ts';
import { openBlobStore } from '../../blobs/blob-store.ts';
import { derivedId } from '../../events/derived-id.ts';
import { streamOf } from '../../events/stream-of.ts';
import { positionAfter } from '../../log/position.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { readPayloadPolicies } from '../../postgres/payload-policies.ts';
import { countKeys, destroyKeys, keysOf } from '../../postgres/stream-keys.ts';
import { dropAllSnapshots } from '../../projections/as-of/snapshot-schema.ts';
import { type DueRun, readDue } from '../../projections/forgetting/read-due.ts';
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
import { limitOf } from '../../runtime/limit.ts';
import { drawnSegments, dropDrawn } from '../collect/prompting/prompter.ts';
import { dropKept } from '../datasets/kept-exports.ts';
import { type RebuildOptions, rebuildProjection, retireVersions } from '../rebuild/rebuild-projection.ts';

const BLOB_GRACE_MS = 60_000; // longer than between the put of a blob and the append of the event that names it
const PART = 5_000; // keys in one event
const AT_ONCE = 100; // events in one append

/** Something of what is asked for cannot be forgotten. */
export class CannotForget extends Error {
  override readonly name = 'CannotForget';
}

interface ForgetOptions extends RebuildOptions {
  readonly by: string;
  readonly reason: string;
  /** What is done where events lie in the clear: refused, or left as they are while what is sealed is forgotten. */
  readonly clear?: 'refuse' | 'leave';
  readonly blobGraceMs?: number;
  /** Called after each step, by its name. What it throws ends the forgetting there, as a kill would. */
  readonly after?: (step: string) => void | Promise<void>;
}

interface ForgetResult {
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
export async function forget(platform: Platform, plan: ForgetPlan, options: ForgetOptions): Promise<ForgetResult> {
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
  await dropKept(platform.objects);
  await after('drawn segments');
  await record(platform, plan, { by, reason, blobs: deleted });
  await after('record');
  return { keys: keys.length, blobs: deleted, blobsLeft: plan.blobs.length - deleted };
}

async function deleteBlobs({ objects }: Platform, names: readonly string[], graceMs: number): Promise<number> {
  const blobs = openBlobStore(objects);
  let deleted = 0;
  for (const name of names) if (await blobs.remove(name, graceMs)) deleted++;
  return deleted;
}

/** Deletes the drawn segments that all processes share, and of the memory of this one. */
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

/** What a forgetting takes away, counted before it begins. */
export interface ForgetPlan {
  readonly runs: readonly ForgettableRun[];
  /** Ids of the history segments that nothing else shows. */
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

/** Counts what would be forgotten; changes nothing. */
export async function planForgetting({ database: { db } }: Platform, forgettable: Forgettable): Promise<ForgetPlan> {
  const runs = await readForgettable(db, forgettable);
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

/** Returns all streams that a plan takes the payload of. */
function streamsOf(plan: Streams): readonly string[] {
  return plan.runs.flatMap((run) => streamsOfRun(plan, run));
}

/** Returns the streams that are recorded as forgotten with a run: shared segments go with the first one. */
function streamsOfRun({ runs, segments }: Streams, run: ForgettableRun): readonly string[] {
  return [...(run.whole ? [run.runId] : []), ...run.trees, ...(run === runs[0] ? segments.map(streamOfSegment) : [])];
}

/** Reads the destroyed keys of streams whose end is not recorded in their run. */
export async function unrecorded(db: Db, { runId }: ForgettableRun, streams: readonly string[]) {
  const recorded = await readForgottenKeys(db, runId);
  return (await keysOf(db, streams)).filter(({ keyId, destroyed }) => destroyed && !recorded.has(keyId));
}

function streamOfSegment(segmentId: string): string {
  const stream = streamOf('SegmentRendered', { segmentId });
  if (stream === undefined) throw new Error('a segment has a stream');
  return stream;
}

/** The read models whose tables hold payload. */
export const HOLDING = ['runs', 'step-tree', 'rewards', 'replays', 'images', 'prompts', 'pictures', 'annotations'];

const BUILDS_AT_ONCE = 2; // a build waits for Postgres most of its time; each takes up to six connections

/**
 * Folds the read models that hold payload again, without what is forgotten, and drops what was live before. The first failure
 * ends the others. @param after called with the name of each read model that is purged.
 */
async function purgeReadModels(
  platform: Platform,
  rebuilding: RebuildOptions,
  after: (name: string) => void | Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const options = { ...rebuilding, signal: AbortSignal.any([rebuilding.signal, failed.signal]), differing: 'expected' } as const;
  const inTurn = limitOf(BUILDS_AT_ONCE);
  const purge = async (name: string): Promise<void> => {
    failed.signal.throwIfAborted();
    const projection = projections.find((candidate) => candidate.name === name);
    if (!projection) throw new Error(`no projection ${name}`);
    await rebuildProjection(platform, projection, options);
    await retireVersions(platform, projection); // what was live before holds the payload
    await after(name);
  };
  const ends = await Promise.allSettled(
    HOLDING.map((name) =>
      inTurn(() => purge(name)).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  if (ends.some(({ status }) => status === 'rejected')) throw failed.signal.reason; // the first one, which ended the others
}

/** What a project keeps no longer. */
export interface Due {
  readonly project: string;
  readonly days: number;
  /** Runs that can be forgotten, whole or in part. */
  readonly runs: readonly string[];
  /** Runs whose payload lies in the clear, all of it: nothing makes the log forget it. */
  readonly clear: readonly string[];
}

/** Reads what is older than the days that its project keeps it. @param now as milliseconds since 1970. */
export async function readRetention({ database: { db } }: Platform, now: number): Promise<readonly Due[]> {
  const due = await readDue(db, now);
  const policies = await readPayloadPolicies(db);
  return policies.flatMap(({ project, forgetAfterDays: days }) => {
    if (days === null) return [];
    const of = (is: (run: DueRun) => boolean) =>
      due.filter((run) => run.project === project && is(run)).map(({ runId }) => runId);
    return [{ project, days, runs: of(({ sealed }) => sealed), clear: of(({ sealed, forgotten }) => !sealed && !forgotten) }];
  });
}

interface Retained extends ForgetResult {
  readonly plan: ForgetPlan;
}

/**
 * Forgets what is older than the days that its project keeps it, as `forget` does, and leaves what lies in the clear. The read
 * models are folded again once for all of it. Null where nothing is due. Killed anywhere, it is continued by the next call.
 */
export async function retain(
  platform: Platform,
  due: readonly Due[],
  options: Omit<ForgetOptions, 'by' | 'reason' | 'clear'>,
): Promise<Retained | null> {
  const ids = due.flatMap(({ runs }) => runs);
  if (ids.length === 0) return null;
  const plan = await planForgetting(platform, { kind: 'runs', ids });
  const days = due.filter(({ runs }) => runs.length > 0).map((each) => `${each.days} days of ${each.project}`);
  const reason = `older than the ${days.join(', the ')}`;
  return { plan, ...(await forget(platform, plan, { ...options, by: 'retention', reason, clear: 'leave' })) };
}
