import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { isKeyTaken } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isAhead } from '../../postgres/transaction-ahead.ts';
import type { Poison, Projection } from '../projection.ts';
import { foldBatch, type Known } from './fold-batch.ts';
import { loadKnown } from './known.ts';
import { writeRows } from './write-rows.ts';

// From here on a batch is first written as if nobody had appended an event of it before, and looked up where the unique key says
// otherwise: to look up 4,000 events that are not there takes a statement with 8,000 ids and as many searches of the index.
const GUESSED_FROM = 50;

/**
 * Keeps every event that has effect once, in its log order and its stream's order, and notes what should not be: an event
 * appended twice, a hole in a producer's sequence, a sequence that regressed, what a replaced collector appended. The first
 * append of an id in its stream is the fact; another fact under the same id there is quarantined. In another stream the id is
 * another event's: which partition is delivered first decides nothing. Where an event was appended again because it was released
 * from a quarantine, the place is kept: there it takes effect for who refused it before.
 */
export const journal: Projection = {
  name: 'journal',
  version: 1,
  handles: 'all',
  keepsSuperseded: true,
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  if (batch.length >= GUESSED_FROM) {
    if (isAhead(trx)) return foldAndWrite(batch, await loadKnown(batch.filter(isRepeated), batch, trx), trx);
    await sql`savepoint guessed`.execute(trx);
    try {
      const poison = await foldAndWrite(batch, await loadKnown([], batch, trx), trx);
      await sql`release savepoint guessed`.execute(trx);
      return poison;
    } catch (error) {
      if (!isKeyTaken(error)) throw error;
      await sql`rollback to savepoint guessed`.execute(trx);
    }
  }
  return foldAndWrite(batch, await loadKnown(batch, batch, trx), trx);
}

/** Whether an event is one that several processes record alike; of a slice that is folded with others a guess must be right. */
function isRepeated({ event }: Delivery): boolean {
  return event.type === 'SegmentRendered';
}

async function foldAndWrite(batch: readonly Delivery[], known: Known, trx: Trx): Promise<readonly Poison[]> {
  const folded = foldBatch(batch, known);
  await writeRows(folded, known, trx);
  return folded.poison;
}
