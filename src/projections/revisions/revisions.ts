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
export const revisions: Projection = { name: 'revisions', version: 1, handles: HANDLES, project };

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
      if (current.has(row.revisionId)) continue;
      current.set(row.revisionId, { treeId: row.treeId, state: row.state });
      composed.set(row.revisionId, row);
    }
    if (isOf(delivery, 'RevisionVerified') || isOf(delivery, 'RevisionRejected')) {
      const { treeId, revisionId } = delivery.event.data;
      const revision = current.get(revisionId);
      if (revision?.treeId !== treeId) {
        const reason = `tree ${treeId} has no revision ${revisionId}; append its RevisionComposed first`;
        poison.push({ delivery, code: 'missing-revision', field: 'data.revisionId', reason });
        continue;
      }
      if (revision.state !== 'composed') continue;
      const outcome = outcomeRow(delivery.event);
      current.set(revisionId, { treeId, state: outcome.state });
      const fresh = composed.get(revisionId);
      if (fresh) composed.set(revisionId, { ...fresh, ...outcome });
      else outcomes.push(outcome);
    }
  }
  await insertRows(trx, tables.judgements, judgements);
  await insertRows(trx, tables.revisions, [...composed.values()]);
  await updateRows(trx, tables.revisions, outcomes, 'checkedAt');
  return poison;
}

async function currentRevisions(
  batch: readonly Delivery[],
  trx: Trx,
): Promise<Map<string, { readonly treeId: string; readonly state: string }>> {
  const ids = batch.flatMap(({ event }) => ('revisionId' in event.data ? [event.data.revisionId] : []));
  if (ids.length === 0) return new Map();
  const rows = await rowsWhere(trx, 'revisions', { revisionId: ids }, ['revisionId', 'treeId', 'state']);
  return new Map(rows.map((row) => [row.revisionId, { treeId: row.treeId, state: row.state }]));
}
