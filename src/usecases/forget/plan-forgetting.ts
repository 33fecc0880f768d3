import { streamOf } from '../../events/stream-of.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { countKeys, keysOf } from '../../postgres/stream-keys.ts';
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

/** Returns all streams that a plan takes the payload of. */
export function streamsOf(plan: Streams): readonly string[] {
  return plan.runs.flatMap((run) => streamsOfRun(plan, run));
}

/** Returns the streams that are recorded as forgotten with a run: shared segments go with the first one. */
export function streamsOfRun({ runs, segments }: Streams, run: ForgettableRun): readonly string[] {
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
