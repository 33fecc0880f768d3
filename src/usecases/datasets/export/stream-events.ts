import type { BlobStore } from '../../../blobs/blob-store.ts';
import { decode } from '../../../events/codec.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { Envelope } from '../../../events/envelope.ts';
import { streamOf } from '../../../events/stream-of.ts';
import type { Trx } from '../../../postgres/database.ts';
import { unsealerOf } from '../../../postgres/stream-keys.ts';
import { readSegments as readDrawn, type SegmentRecord } from '../../../projections/images/read-segments.ts';
import { readPlacedRecords } from '../../../projections/journal/read-bodies.ts';
import { type SelectedTree, selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { blobLine, type CarriedBlob, type EndLine, eventLine, HEADER, inlinePayloads, readCarried } from '../event-line.ts';
import { isTreeEvent, type TreeEvent, TreeShape } from '../tree-shape.ts';
import type { FormatEntry, WriteJob } from './format.ts';
import { keepTouched } from './keep-events.ts';
import type { ExportCounts } from './manifest.ts';
import { checkEvents } from './manifest.ts';
import { batchTrees } from './stream-trajectories.ts';
import { zero } from './write-trajectories.ts';

/**
 * The events themselves: what `import` takes back without loss. `trajectories` keeps of each tree what the chosen rollouts
 * touch; `trees` keeps every event of each tree that holds a chosen rollout.
 */
interface EventsFormat {
  readonly kind: 'jsonl';
  readonly scope: 'trajectories' | 'trees';
}

/** Some events of a file, with the payloads that go before them. */
interface EventPart {
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
 * events took effect: that of the log, requeued ones where they were requeued. It is what the import appends and the next export
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
    for (const each of (await takeOne(trx, experimentId)).events) start.push(each);
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
  const shown = new Map<string, { readonly segmentId: string; readonly history: Envelope<'HistoryRendered'> }>(); // by stream
  for (const event of events) {
    if (event.type !== 'HistoryRendered') continue;
    for (const segmentId of event.data.segments) {
      const stream = streamOf('SegmentRendered', { segmentId });
      if (stream === undefined || written.has(stream)) continue;
      written.add(stream);
      shown.set(stream, { segmentId, history: event });
    }
  }
  if (shown.size === 0) return [];
  const placed = await readPlaced(trx, [...shown.keys()]);
  const unplaced = [...shown].filter(([stream]) => placed(stream).events.length === 0).map(([, { segmentId }]) => segmentId);
  const drawn = new Map((await readDrawn(trx, unplaced)).map((segment) => [segment.id, segment]));
  return [...shown].flatMap(([stream, { segmentId, history }]) => {
    const { events: said } = takeStream(placed(stream).events);
    const first = said.find(({ sealed }) => !sealed) ?? said[0]; // who drew it again said the same; one that is forgotten says nothing
    if (first) return first;
    const segment = drawn.get(segmentId);
    return segment ? drawnBy(history, stream, segment) : [];
  });
}

/**
 * Returns how a segment was drawn as the run that shows it would have recorded it: the event is of the project that drew it first, which
 * the journal shows to no other one.
 */
function drawnBy(history: Envelope<'HistoryRendered'>, stream: string, segment: SegmentRecord): Envelope<'SegmentRendered'> {
  const { id: segmentId, runId: _, blobs, text, ...drawn } = segment;
  const { repaired: _repaired, sealed: _sealed, released: _released, ...envelope } = history;
  return {
    ...envelope,
    id: derivedId('SegmentRendered', segmentId),
    type: 'SegmentRendered',
    stream,
    causationId: null,
    data: { segmentId, text: blobs?.text ?? text, ...drawn },
  };
}

async function inlined<E extends Envelope>(events: readonly E[], blobs: BlobStore): Promise<readonly E[]> {
  const whole: E[] = [];
  for (const event of events) whole.push(await inlinePayloads(event, blobs));
  return whole;
}

/** An event at a place of the log where it may take effect: where it was appended, or where it was requeued. */
interface PlacedEvent {
  readonly event: Envelope;
  /** A read model refused it at this place, and set it aside. */
  readonly refused: boolean;
}

/** What of a stream took effect, each event once and at the place where it did, and how many events did nowhere. */
interface EffectiveEvents<E extends Envelope = Envelope> {
  readonly events: readonly E[];
  readonly leftOut: number;
}

/**
 * Takes what took effect in a tree, in the order in which it did. What waits in quarantine is left out, and so is what refers to
 * it; a requeued event is taken at its new place. Nothing changes its place, so that a fold of what is taken
 * returns the rewards and the tree of the record.
 * @param placed the events of the tree's stream in the order of the log, requeued ones at both of their places.
 */
function takeTree(placed: readonly PlacedEvent[]): EffectiveEvents<TreeEvent> {
  const dropped = new Set<string>();
  for (;;) {
    const shape = new TreeShape();
    const taken = take(
      placed,
      (event): event is TreeEvent => isTreeEvent(event) && !dropped.has(event.id) && shape.refuse(event) === null,
    );
    const dangling = shape.dangling();
    if (dangling.size === 0) return taken;
    for (const { id } of dangling.keys()) dropped.add(id); // what revises or judges them goes with them
  }
}

/** Takes what took effect in a stream that is no tree. */
function takeStream(placed: readonly PlacedEvent[]): EffectiveEvents {
  return take(placed, (event): event is Envelope => !isTreeEvent(event));
}

function take<E extends Envelope>(placed: readonly PlacedEvent[], holds: (event: Envelope) => event is E): EffectiveEvents<E> {
  const taken = new Map<string, E>();
  const met = new Set<string>();
  for (const { event, refused } of placed) {
    met.add(event.id);
    if (!refused && !taken.has(event.id) && holds(event)) taken.set(event.id, event);
  }
  return { events: [...taken.values()], leftOut: met.size - taken.size };
}

/** The events of a stream in the order of the log, and how many records of the journal this program cannot read. */
interface PlacedStream {
  readonly events: readonly PlacedEvent[];
  readonly unreadable: number;
}

const NONE: PlacedStream = { events: [], unreadable: 0 };

/** Reads streams from the journal, each event at the place where it was appended and where it was requeued. */
async function readPlaced(trx: Trx, streams: readonly string[]): Promise<(stream: string) => PlacedStream> {
  const found = new Map<string, { events: PlacedEvent[]; unreadable: number }>();
  const records = await readPlacedRecords(trx, streams);
  const unseal = await unsealerOf(
    trx,
    records.map(({ body }) => body),
  );
  for (const { stream, body, refused } of records) {
    const placed = found.get(stream) ?? { events: [], unreadable: 0 };
    found.set(stream, placed);
    const decoded = decode(Buffer.from(body, 'utf8'), unseal);
    if (decoded.kind === 'event') placed.events.push({ event: decoded.event, refused });
    else placed.unreadable += 1; // written before a rule of its schema was made: a fold of the log sets it aside
  }
  return (stream) => found.get(stream) ?? NONE;
}

export const eventsFormat: FormatEntry<EventsFormat> = {
  kind: 'jsonl',
  version: 2,
  container: 'events',
  options: ({ scope }) => ({ scope }),
  notes: () => ['note: these are events: espalier import takes them back without loss, and trainers do not know the form'],
  write: writeEvents,
};

async function writeEvents(job: WriteJob<EventsFormat>): Promise<ExportCounts> {
  const { trx, query, blobs, format, file, signal, onDone } = job;
  const counts = zero();
  let payloads = 0;
  let leftOut = 0;
  await file.write(`${JSON.stringify(HEADER)}\n`);
  for await (const part of streamEvents(trx, query, blobs, format.scope)) {
    signal.throwIfAborted();
    for (const blob of part.blobs) await file.write(blobLine(blob));
    payloads += part.blobs.length;
    for (const event of part.events) {
      await file.write(eventLine(event));
      counts.lines += 1;
      if (event.type !== 'StepTaken') continue;
      counts.steps += 1;
      counts.tokens += event.data.tokens?.ids.length ?? 0;
    }
    leftOut += part.leftOut;
    if (!part.tree) continue;
    counts.trees += 1;
    counts.trajectories += endsOf(part.tree, part.events);
    onDone(counts.trajectories);
  }
  const end: EndLine = { end: { events: counts.lines } };
  await file.write(`${JSON.stringify(end)}\n`);
  return { ...counts, lines: counts.lines + payloads + 2, ...(leftOut > 0 ? { leftOut } : {}) };
}

/** Counts the chosen rollouts whose end is among the events: a trajectory is in the file when its end is. */
function endsOf(tree: SelectedTree, events: readonly Envelope[]): number {
  const chosen = new Set(tree.rollouts.map(({ rolloutId }) => rolloutId));
  return events.filter((event) => event.type === 'RolloutFinished' && chosen.has(event.data.rolloutId)).length;
}
