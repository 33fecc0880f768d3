import type { Delivery, Envelope } from '../../events/envelope.ts';
import { stampOf } from '../../events/envelope.ts';
import { insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds what people and programs said of steps, rollouts, revisions, rows and trees. The first event of an annotation and its
 * first retraction are the facts; a repetition changes nothing. What is annotated is not looked up: it may be folded later, by
 * another projection. A retraction of an annotation that its tree does not have goes to quarantine.
 */
export const annotations: Projection = {
  name: 'annotations',
  version: 2,
  handles: ['AnnotationAdded', 'AnnotationRetracted'],
  project,
};

type AnnotationRow = Row<typeof tables.annotations>;
type Retraction = Pick<AnnotationRow, 'treeId' | 'annotationId' | 'retractedAt' | 'retractedBy' | 'retractReason'>;

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await knownAnnotations(batch, trx);
  const added: AnnotationRow[] = [];
  const retracted = new Map<string, Retraction>();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'AnnotationAdded')) {
      const row = annotationRow(delivery.event);
      if (known.has(keyOf(row))) continue;
      known.add(keyOf(row));
      added.push(row);
    }
    if (isOf(delivery, 'AnnotationRetracted')) {
      const row = retractionOf(delivery.event);
      if (!known.has(keyOf(row))) {
        const reason = `tree ${row.treeId} has no annotation ${row.annotationId}; append its AnnotationAdded first`;
        poison.push({ delivery, code: 'missing-annotation', field: 'data.annotationId', reason });
        continue;
      }
      if (!retracted.has(keyOf(row))) retracted.set(keyOf(row), row);
    }
  }
  await insertRows(trx, tables.annotations, added);
  await updateRows(trx, tables.annotations, [...retracted.values()], 'retractedAt');
  return poison;
}

function keyOf({ treeId, annotationId }: Pick<AnnotationRow, 'treeId' | 'annotationId'>): string {
  return `${treeId} ${annotationId}`;
}

async function knownAnnotations(batch: readonly Delivery[], trx: Trx): Promise<Set<string>> {
  const ids = batch.flatMap(({ event }) => ('annotationId' in event.data ? [event.data.annotationId] : []));
  if (ids.length === 0) return new Set();
  const rows = await rowsWhere(trx, 'annotations', { annotationId: ids }, ['treeId', 'annotationId']);
  return new Set(rows.map(keyOf));
}

/** Returns the row that an annotation becomes. */
function annotationRow(event: Envelope<'AnnotationAdded'>): AnnotationRow {
  const { annotationId, treeId, subject, label, score, note } = event.data;
  return {
    annotationId,
    treeId,
    runId: event.correlationId,
    kind: subject.kind,
    stepId: subject.kind === 'step' ? subject.stepId : null,
    rolloutId: subject.kind === 'rollout' ? subject.rolloutId : null,
    revisionId: subject.kind === 'revision' ? subject.revisionId : null,
    datasetId: subject.kind === 'row' ? subject.datasetId : null,
    line: subject.kind === 'row' ? subject.line : null,
    label,
    score,
    note,
    principal: stampOf(event).principal,
    addedAt: event.occurredAt,
    retractedAt: null,
    retractedBy: null,
    retractReason: null,
  };
}

function retractionOf(event: Envelope<'AnnotationRetracted'>): Retraction {
  const { annotationId, treeId, reason } = event.data;
  const { principal } = stampOf(event);
  return { treeId, annotationId, retractedAt: event.occurredAt, retractedBy: principal, retractReason: reason };
}
