import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { judgementRow, type OutcomeRow, outcomeRow, type RevisionRow, revisionRow } from './rows.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = ['StepJudged', 'RevisionComposed', 'RevisionVerified', 'RevisionRejected'];

/**
 * Folds judgements and revisions. A revision is composed once, then verified or rejected once: the first outcome is the fact, a
 * later one changes nothing. An outcome of a revision that its tree does not have goes to quarantine. The run of a row is the
 * event's correlation id.
 */
export const revisions: Projection = { name: 'revisions', version: 2, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const current = await currentRevisions(batch, trx);
  const judgements: ReturnType<typeof judgementRow>[] = [];
  const composed = new Map<string, RevisionRow>();
  const outcomes: OutcomeRow[] = [];
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'StepJudged')) judgements.push(judgementRow(delivery));
    if (isOf(delivery, 'RevisionComposed')) {
      const row = revisionRow(delivery);
      const key = keyOf(row);
      if (current.has(key)) continue;
      current.set(key, row.state);
      composed.set(key, row);
    }
    if (isOf(delivery, 'RevisionVerified') || isOf(delivery, 'RevisionRejected')) {
      const { treeId, revisionId } = delivery.event.data;
      const key = keyOf(delivery.event.data);
      const state = current.get(key);
      if (state === undefined) {
        const reason = `tree ${treeId} has no revision ${revisionId}; append its RevisionComposed first`;
        poison.push({ delivery, code: 'missing-revision', field: 'data.revisionId', reason });
        continue;
      }
      if (state !== 'composed') continue;
      const outcome = outcomeRow(delivery.event);
      current.set(key, outcome.state);
      const fresh = composed.get(key);
      if (fresh) composed.set(key, { ...fresh, ...outcome });
      else outcomes.push(outcome);
    }
  }
  await insertRows(trx, tables.judgements, judgements);
  await insertRows(trx, tables.revisions, [...composed.values()]);
  await updateRows(trx, tables.revisions, outcomes, 'checkedAt');
  return poison;
}

/** A revision is identified by its id in its tree. */
function keyOf({ treeId, revisionId }: { readonly treeId: string; readonly revisionId: string }): string {
  return `${treeId} ${revisionId}`;
}

/** Reads the states of the revisions that a batch names, by `keyOf`. */
async function currentRevisions(batch: readonly Delivery[], trx: Trx): Promise<Map<string, string>> {
  const named = batch.flatMap(({ event }) => ('revisionId' in event.data ? [event.data] : []));
  if (named.length === 0) return new Map();
  const revisionId = named.map((data) => data.revisionId);
  const treeId = new Set(named.map((data) => data.treeId));
  const rows = await rowsWhere(trx, 'revisions', { revisionId, treeId }, ['revisionId', 'treeId', 'state']);
  return new Map(rows.map((row) => [keyOf(row), row.state]));
}
