import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Envelope } from '../../../events/envelope.ts';
import { streamOf } from '../../../events/stream-of.ts';
import type { Trx } from '../../../postgres/database.ts';
import { type SelectedTree, selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { type CarriedBlob, readCarried } from '../carried-blob.ts';
import { inlinePayloads } from '../inline-payloads.ts';
import { checkEvents } from './check-whole.ts';
import { keepTouched } from './keep-events.ts';
import { readPlaced } from './read-placed.ts';
import { batchTrees } from './stream-trajectories.ts';
import { type EffectiveEvents, takeStream, takeTree } from './take-events.ts';

/** Some events of a file, with the payloads that go before them. */
export interface EventPart {
  /** The tree that they record; null for those of a run. */
  readonly tree: SelectedTree | null;
  readonly events: readonly Envelope[];
  readonly blobs: readonly CarriedBlob[];
  /** Events of the same streams that took no effect: they wait in quarantine, refer to what does, or say again what was said. */
  readonly leftOut: number;
}

/**
 * Streams the events of the chosen trees in the order that an import wants: the start of a run, its trees by task, its end;
 * before a tree, the segments of history that it shows and no tree before it did. Within a tree the order is that in which its
 * events took effect: that of the log, released ones where they were released. It is what the import appends and the next export
 * reads.
 */
export async function* streamEvents(
  trx: Trx,
  query: TrajectoryQuery,
  blobs: BlobStore,
  scope: 'trajectories' | 'trees',
): AsyncGenerator<EventPart> {
  const written = new Set<string>();
  const drawn = new Set<string>();
  const carried = new Set<string>();
  const part = async (events: readonly Envelope[], leftOut: number, tree: SelectedTree | null = null): Promise<EventPart> => {
    const whole = await inlined(events, blobs);
    return { tree, events: whole, blobs: await readCarried(whole, blobs, carried), leftOut };
  };
  let run: { readonly id: string; readonly end: readonly Envelope[] } | undefined;
  for await (const batch of batchTrees(trx, selectTrees(trx, query))) {
    const whole = await checkEvents(trx, batch, scope);
    const placed = await readPlaced(
      trx,
      batch.map(({ treeId }) => treeId),
    );
    for (const tree of batch) {
      if (tree.runId !== run?.id) {
        if (run) yield part(run.end, 0);
        const { start, end, leftOut } = await readRun(trx, tree.runId, written);
        yield part(start, leftOut);
        run = { id: tree.runId, end };
      }
      const { events, unreadable } = placed(tree.treeId);
      const taken = takeTree(events);
      const chosen = new Set(tree.rollouts.map(({ rolloutId }) => rolloutId));
      const kept = scope === 'trees' ? taken.events : keepTouched(taken.events, chosen);
      const segments = await readSegments(trx, kept, drawn);
      if (segments.length > 0) yield part(segments, 0);
      whole.refuseLoss(tree, kept);
      yield part(kept, taken.leftOut + unreadable, tree);
    }
  }
  if (run) yield part(run.end, 0);
}

interface RunEvents {
  readonly start: readonly Envelope[];
  readonly end: readonly Envelope[];
  readonly leftOut: number;
}

/**
 * Reads a run's own events: the experiment it belongs to (written once per file) and its start; and what comes after its trees.
 */
async function readRun(trx: Trx, runId: string, written: Set<string>): Promise<RunEvents> {
  const { events, leftOut } = await takeOne(trx, runId);
  const started = events.find((event) => event.type === 'RunStarted');
  // never declared: its trees stand alone
  if (started?.type !== 'RunStarted') return { start: [], end: [], leftOut: leftOut + events.length };
  const { experimentId } = started.data;
  const start: Envelope[] = [];
  if (experimentId !== null && !written.has(experimentId)) {
    written.add(experimentId);
    start.push(...(await takeOne(trx, experimentId)).events);
  }
  const specs = events.filter((event) => event.type === 'RenderSpecRegistered');
  const end = events.filter((event) => event.type !== 'RunStarted' && event.type !== 'RenderSpecRegistered');
  return { start: [...start, started, ...specs], end, leftOut };
}

async function takeOne(trx: Trx, stream: string): Promise<EffectiveEvents> {
  const { events, unreadable } = (await readPlaced(trx, [stream]))(stream);
  const taken = takeStream(events);
  return { events: taken.events, leftOut: taken.leftOut + unreadable };
}

/** Reads how the segments were drawn that the histories of a tree show, each written once per file. */
async function readSegments(trx: Trx, events: readonly Envelope[], written: Set<string>): Promise<readonly Envelope[]> {
  const streams: string[] = [];
  for (const event of events) {
    if (event.type !== 'HistoryRendered') continue;
    for (const segmentId of event.data.segments) {
      const stream = streamOf('SegmentRendered', { segmentId });
      if (stream === undefined || written.has(stream)) continue;
      written.add(stream);
      streams.push(stream);
    }
  }
  if (streams.length === 0) return [];
  const drawn = await readPlaced(trx, streams);
  return streams.flatMap((stream) => {
    const { events: said } = takeStream(drawn(stream).events);
    return said.find(({ sealed }) => !sealed) ?? said[0] ?? []; // who drew it again said the same; one that is forgotten says nothing
  });
}

async function inlined<E extends Envelope>(events: readonly E[], blobs: BlobStore): Promise<readonly E[]> {
  const whole: E[] = [];
  for (const event of events) whole.push(await inlinePayloads(event, blobs));
  return whole;
}
