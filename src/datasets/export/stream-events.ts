import { sql } from 'kysely';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { inlinePayloads } from '../inline-payloads.ts';
import { keepTouched, orderEvents } from './keep-events.ts';
import { type SelectedTree, selectTrees } from './select-trajectories.ts';
import { batchTrees } from './stream-trajectories.ts';
import type { TrajectoryQuery } from './trajectory-query.ts';

export type EventPart =
  | { readonly kind: 'run'; readonly events: readonly Envelope[] }
  | { readonly kind: 'tree'; readonly tree: SelectedTree; readonly events: readonly Envelope[] };

/**
 * Streams the events of the chosen trees in the order that an import wants: the start of a run, its trees by task, its end. Within a tree
 * the order is that of its stream in the journal, which is what the import appends and the next export reads.
 */
export async function* streamEvents(
  trx: Trx,
  query: TrajectoryQuery,
  blobs: BlobStore,
  scope: 'trajectories' | 'trees',
): AsyncGenerator<EventPart> {
  const told = new Set<string>();
  let run: { readonly id: string; readonly end: readonly Envelope[] } | undefined;
  for await (const batch of batchTrees(trx, selectTrees(trx, query))) {
    const streams = await readStreams(
      trx,
      batch.map(({ treeId }) => treeId),
    );
    for (const tree of batch) {
      if (tree.runId !== run?.id) {
        if (run) yield { kind: 'run', events: run.end };
        const { start, end } = await readRun(trx, tree.runId, told);
        yield { kind: 'run', events: start };
        run = { id: tree.runId, end };
      }
      const ordered = orderEvents(streams.get(tree.treeId) ?? []);
      const kept = scope === 'trees' ? ordered : keepTouched(ordered, new Set(tree.rollouts.map(({ rolloutId }) => rolloutId)));
      const events: Envelope[] = [];
      for (const event of kept) events.push(await inlinePayloads(event, blobs));
      yield { kind: 'tree', tree, events };
    }
  }
  if (run) yield { kind: 'run', events: run.end };
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
  return { start: [...start, started], end: events.filter((event) => event !== started && event.type !== 'RunStarted') };
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
