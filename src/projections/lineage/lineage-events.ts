import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../journal/read-events-of-types.ts';

/** What the journal holds of the making of one version, each fact with the event that says it. */
export interface VersionEvents {
  readonly update: Envelope<'PolicyUpdated'>;
  /** Null for a beginning. */
  readonly batch: Envelope<'BatchPlanned'> | null;
  readonly ack: Envelope<'BatchAcked'> | null;
  readonly checkpoint: Envelope<'CheckpointSaved'> | null;
}

/** What the journal holds of a policy's training, in the order of the log: its batches by ordinal, its versions by number. */
export interface LineageEvents {
  readonly batches: ReadonlyMap<number, Envelope<'BatchPlanned'>>;
  /** The ordinals of those that were abandoned: they produced no version. */
  readonly abandoned: ReadonlySet<number>;
  readonly versions: ReadonlyMap<number, VersionEvents>;
}

/**
 * Reads the events of a lineage from the journal: no read model between. Of an event that was recorded twice, the first counts.
 */
export async function readLineageEvents(db: Db, lineageId: string): Promise<LineageEvents> {
  const events = await readEventsOfTypes(db, lineageId, TYPES);
  const batches = new Map<number, Envelope<'BatchPlanned'>>();
  const batchById = new Map<string, Envelope<'BatchPlanned'>>();
  const acks = new Map<string, Envelope<'BatchAcked'>>();
  const abandoned = new Set<number>();
  const checkpoints = new Map<string, Envelope<'CheckpointSaved'>>();
  const updates = new Map<number, Envelope<'PolicyUpdated'>>();
  for (const event of events) {
    if (event.type === 'BatchPlanned') {
      putFirst(batches, event.data.ordinal, event);
      putFirst(batchById, event.data.batchId, event);
    } else if (event.type === 'BatchAcked') putFirst(acks, event.data.batchId, event);
    else if (event.type === 'BatchAbandoned') abandoned.add(event.data.ordinal);
    else if (event.type === 'CheckpointSaved') putFirst(checkpoints, event.data.checkpointId, event);
    else putFirst(updates, event.data.version, event);
  }
  const versions = [...updates].map(([version, update]): [number, VersionEvents] => {
    const { batchId, checkpointId } = update.data;
    const of = <T>(known: ReadonlyMap<string, T>) => (batchId === null ? null : (known.get(batchId) ?? null));
    return [version, { update, batch: of(batchById), ack: of(acks), checkpoint: checkpoints.get(checkpointId) ?? null }];
  });
  return { batches, abandoned, versions: new Map(versions) };
}

const TYPES = ['BatchPlanned', 'BatchAcked', 'BatchAbandoned', 'CheckpointSaved', 'PolicyUpdated'] as const;

function putFirst<K, V>(into: Map<K, V>, key: K, value: V): void {
  if (!into.has(key)) into.set(key, value);
}
