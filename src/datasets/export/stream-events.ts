import { sql } from 'kysely';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { streamOf } from '../../events/stream-of.ts';
import type { Trx } from '../../postgres/database.ts';
import { type CarriedBlob, readCarried } from '../carried-blob.ts';
import { inlinePayloads } from '../inline-payloads.ts';
import { keepTouched, orderEvents } from './keep-events.ts';
import { type SelectedTree, selectTrees } from './select-trajectories.ts';
import { batchTrees } from './stream-trajectories.ts';
import type { TrajectoryQuery } from './trajectory-query.ts';

export type EventPart =
  | { readonly kind: 'run'; readonly events: readonly Envelope[]; readonly blobs: readonly CarriedBlob[] }
  | {
      readonly kind: 'tree';
      readonly tree: SelectedTree;
      readonly events: readonly Envelope[];
      readonly blobs: readonly CarriedBlob[];
    };

/**
 * Streams the events of the chosen trees in the order that an import wants: the start of a run, its trees by task, its end; before a tree, the
 * segments of history that it shows and no tree before it did. Within a tree
 * the order is that of its stream in the journal, which is what the import appends and the next export reads.
 */
export async function* streamEvents(
  trx: Trx,
  query: TrajectoryQuery,
  blobs: BlobStore,
  scope: 'trajectories' | 'trees',
): AsyncGenerator<EventPart> {
  const told = new Set<string>();
  const drawn = new Set<string>();
  const carried = new Set<string>();
  const whole = async (events: readonly Envelope[]) => {
    const own = await inlined(events, blobs);
    return { events: own, blobs: await readCarried(own, blobs, carried) };
  };
  let run: { readonly id: string; readonly end: readonly Envelope[] } | undefined;
  for await (const batch of batchTrees(trx, selectTrees(trx, query))) {
    const streams = await readStreams(
      trx,
      batch.map(({ treeId }) => treeId),
    );
    for (const tree of batch) {
      if (tree.runId !== run?.id) {
        if (run) yield { kind: 'run', ...(await whole(run.end)) };
        const { start, end } = await readRun(trx, tree.runId, told);
        yield { kind: 'run', ...(await whole(start)) };
        run = { id: tree.runId, end };
      }
      const ordered = orderEvents(streams.get(tree.treeId) ?? []);
      const kept = scope === 'trees' ? ordered : keepTouched(ordered, new Set(tree.rollouts.map(({ rolloutId }) => rolloutId)));
      const segments = await readSegments(trx, kept, drawn);
      if (segments.length > 0) yield { kind: 'run', ...(await whole(segments)) };
      yield { kind: 'tree', tree, ...(await whole(kept)) };
    }
  }
  if (run) yield { kind: 'run', ...(await whole(run.end)) };
}

/** Reads a run's own events: the experiment it belongs to (told once per file) and its start; and what comes after its trees. */
async function readRun(
  trx: Trx,
  runId: string,
  told: Set<string>,
): Promise<{ readonly start: readonly Envelope[]; readonly end: readonly Envelope[] }> {
  const events = (await readStreams(trx, [runId])).get(runId) ?? [];
  const started = events.find((event) => event.type === 'RunStarted');
  if (started?.type !== 'RunStarted') return { start: [], end: [] }; // a run that was never declared: its trees stand alone
  const { experimentId } = started.data;
  const start: Envelope[] = [];
  if (experimentId !== null && !told.has(experimentId)) {
    told.add(experimentId);
    start.push(...((await readStreams(trx, [experimentId])).get(experimentId) ?? []));
  }
  const specs = events.filter((event) => event.type === 'RenderSpecRegistered');
  const end = events.filter((event) => event.type !== 'RunStarted' && event.type !== 'RenderSpecRegistered');
  return { start: [...start, started, ...specs], end };
}

/** Reads how the segments were drawn that the histories of a tree show, each told once per file. */
async function readSegments(trx: Trx, events: readonly Envelope[], told: Set<string>): Promise<readonly Envelope[]> {
  const streams: string[] = [];
  for (const event of events) {
    if (event.type !== 'HistoryRendered') continue;
    for (const segmentId of event.data.segments) {
      const stream = streamOf('SegmentRendered', { segmentId });
      if (stream === undefined || told.has(stream)) continue;
      told.add(stream);
      streams.push(stream);
    }
  }
  if (streams.length === 0) return [];
  const drawn = await readStreams(trx, streams);
  return streams.flatMap((stream) => drawn.get(stream)?.slice(0, 1) ?? []); // who drew it again said the same
}

async function inlined<E extends Envelope>(events: readonly E[], blobs: BlobStore): Promise<readonly E[]> {
  const whole: E[] = [];
  for (const event of events) whole.push(await inlinePayloads(event, blobs));
  return whole;
}

async function readStreams(trx: Trx, streams: readonly string[]): Promise<ReadonlyMap<string, readonly Envelope[]>> {
  const { rows } = await sql<{ stream: string; body: string }>`
    select stream, body from events where stream = any(${[...streams]}::uuid[]) order by stream, position`.execute(trx);
  const events = new Map<string, Envelope[]>();
  for (const { stream, body } of rows) {
    const decoded = decode(Buffer.from(body, 'utf8'));
    if (decoded.kind === 'refused')
      throw new Error(`the journal holds an event that does not decode: ${decoded.refusal.message}`);
    const list = events.get(stream);
    if (list) list.push(decoded.event);
    else events.set(stream, [decoded.event]);
  }
  return events;
}
