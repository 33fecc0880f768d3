import { blobReferences } from '../../events/blob-references.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import type { Poison, Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds who owns each stream: the principal of the event that opened it. A stream lies in one partition, so that the first event
 * is the first in every order of delivery. An event that opens nothing makes no owner: what was sent under the id of a tree
 * before the tree was opened takes nothing away from who opens it.
 */
export const owners: Projection = {
  name: 'owners',
  version: 1,
  handles: Object.keys(catalogue) as EventType[], // the keys of the catalogue are its types
  skips: ({ event, body }) => !opensStream(event) && !mayNamePayload(body),
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const opened = new Map<string, Row<typeof tables.owners>>();
  const payloads = new Map<string, Row<typeof tables.payloadProjects>>();
  for (const { topic, event, body } of batch) {
    const { principal, project } = stampOf(event);
    const key = `${topic} ${event.stream}`;
    if (opensStream(event) && !opened.has(key))
      opened.set(key, { stream: event.stream, topic, root: rootOf(event), principal, project });
    if (!mayNamePayload(body)) continue; // a walk over the data of each event would be the larger part of this fold
    for (const { reference } of blobReferences(event))
      payloads.set(`${reference.blob} ${project}`, { sha256: reference.blob, project });
  }
  await insertRows(trx, tables.owners, [...opened.values()]);
  await insertRows(trx, tables.payloadProjects, [...payloads.values()]);
  return [];
}

function mayNamePayload(body: string): boolean {
  return body.includes('blob":') && body.includes('"blob":'); // quotes are everywhere: a search that begins with one stops at each
}

const OPENING: ReadonlySet<EventType> = new Set<EventType>([
  ...(['ExperimentDeclared', 'RunStarted', 'TreeOpened', 'DatasetReleased', 'SegmentRendered'] as const),
]);

/** Whether an event opens its stream. Those of a lineage are written by the platform alone: the first opens it. */
export function opensStream(event: Pick<Envelope, 'type'>): boolean {
  return OPENING.has(event.type) || catalogue[event.type].topic === 'training';
}

/** Returns the run that a tree belongs to; null for what belongs to nothing else. */
export function rootOf(event: Envelope): string | null {
  return event.type === 'TreeOpened' ? event.data.runId : null;
}
