import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Poison, Projection } from '../projection.ts';
import { foldBatch } from './fold-batch.ts';
import { loadJournalState } from './load-journal-state.ts';
import { writeRows } from './write-rows.ts';

/**
 * Keeps every event that has effect once, in its log order and its stream's order, and notes what should not be: an event
 * appended twice, a hole in a producer's sequence, a sequence that regressed, what a replaced collector appended. The first
 * append of an id in its stream is the fact; another fact under the same id there is quarantined. In another stream the id is
 * another event's: which partition is delivered first decides nothing. Where an event was appended again because it was requeued
 * from a quarantine, the place is kept: there it takes effect for who refused it before.
 */
export const journal: Projection = {
  name: 'journal',
  version: 1,
  handles: 'all',
  keepsWithoutEffect: true,
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const journalState = await loadJournalState(batch, trx);
  const folded = foldBatch(batch, journalState);
  await writeRows(folded, journalState, trx);
  return folded.poison;
}
