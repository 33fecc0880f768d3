import { type Delivery, identityOf } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { type Load, LoadEnds } from '../projection.ts';
import { foldBatch } from './fold-batch.ts';
import { IdPlaces, type Place } from './id-places.ts';
import { loadPlaces } from './known.ts';
import { BODY } from './read-bodies.ts';
import { writeRows } from './write-rows.ts';

/** Loads the journal: it remembers where each event lies, and reads one again only when another comes under its id. */
export const journalLoad: Load = {
  deferred: ['events_event_id_stream_key'],
  open() {
    const ids = new IdPlaces();
    const partitions: string[] = []; // their numbers are their places in this list
    const positions = new Map<string, number>();
    const sequences = new Map<string, number>();
    const received = new Map<string, string>();
    return async (batch, trx) => {
      const { logPartitions } = await loadPlaces(batch, trx);
      const bodies = await bodiesSeen(batch, ids, partitions, trx);
      const known = { bodies, positions, sequences, received, logPartitions };
      const folded = foldBatch(batch, known);
      await writeRows(folded, known, trx);
      return folded.poison;
    };
  },
};

/** Returns the first records of those events of a batch that came in an earlier one, and remembers the others. */
async function bodiesSeen(
  batch: readonly Delivery[],
  ids: IdPlaces,
  partitions: string[],
  trx: Trx,
): Promise<Map<string, string>> {
  const bodies = new Map<string, string>();
  const first = new Set<string>(); // of this batch: the fold knows them
  for (const { topic, partition, offset, event, supersededBy } of batch) {
    if (supersededBy !== undefined) continue;
    const identity = identityOf(event);
    if (first.has(identity) || bodies.has(identity)) continue;
    const name = `${topic} ${partition}`;
    let number = partitions.indexOf(name);
    if (number < 0) number = partitions.push(name) - 1;
    const seen = ids.seen(event, { partition: number, offset });
    if (seen === undefined) first.add(identity);
    else bodies.set(identity, await bodyAt(identity, seen, partitions, trx));
  }
  return bodies;
}

async function bodyAt(identity: string, { partition, offset }: Place, partitions: readonly string[], trx: Trx): Promise<string> {
  const [topic = '', number] = (partitions[partition] ?? '').split(' ');
  const row = await trx
    .selectFrom('events as e')
    .select(['e.eventId as id', 'e.stream', BODY.as('body')])
    .where(({ and }) => and({ 'e.topic': topic, 'e.partition': Number(number), 'e.offset': offset }))
    .executeTakeFirst();
  // Of another partition and not committed yet, refused there, or another event of the same mix.
  if (!row || identityOf(row) !== identity) throw new LoadEnds(`event ${identity} was seen before, and is not where it was`);
  return row.body;
}
