import { describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { ANNOTATION_ORDERINGS, type AnnotationFilter, countLabels, readAnnotationPages } from './read-annotations.ts';

const database = useTestDatabase({ emptied: 'before-each' });

type Subject = DataOf<'AnnotationAdded'>['subject'];

function recorded() {
  const builder = new EventBuilder('annotations');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const { treeId } = tree;
  const walked = builder.walk(tree, 0, 2, 1);
  const stepId = walked.steps[0] ?? '';
  const annotate = (name: string, subject: Subject, label: string | null, score: number | null = null, note = '') => {
    const annotationId = builder.id(name);
    const added = builder.record('AnnotationAdded', { annotationId, treeId, subject, label, score, note }, runId);
    return { annotationId, added };
  };
  const retract = (annotationId: string, reason = '') =>
    builder.record('AnnotationRetracted', { annotationId, treeId, reason }, runId);
  return { builder, runId, treeId, stepId, rolloutId: walked.rolloutId, annotate, retract };
}

async function labels(filter: AnnotationFilter) {
  const page = { limit: 10, towards: 'forwards', after: null, before: null } as const;
  const [found] = await readAnnotationPages(database.db, [filter], ANNOTATION_ORDERINGS.ADDED_ASC, page);
  return found?.rows.map(({ row }) => row.label);
}

describe('the annotations projection', () => {
  test('the projection keeps what was said, of what, by which principal and when, and that it was retracted', async () => {
    const { builder, runId, treeId, stepId, annotate, retract } = recorded();
    const { annotationId, added } = annotate('a', { kind: 'step', stepId }, 'bad', -1, 'gives up');
    const retracted = retract(annotationId, 'another one');
    retract(annotationId, 'twice');
    await givenEvents(database.db, builder.events);
    expect(await database.db.selectFrom('annotations').selectAll().execute()).toEqual([
      {
        annotationId,
        treeId,
        runId,
        kind: 'step',
        stepId,
        rolloutId: null,
        revisionId: null,
        datasetId: null,
        line: null,
        label: 'bad',
        score: -1,
        note: 'gives up',
        principal: 'local',
        addedAt: new Date(added.occurredAt),
        retractedAt: new Date(retracted.occurredAt),
        retractedBy: 'local',
        retractReason: 'another one',
      },
    ]);
  });

  test('annotations are chosen by subject, label, principal and score, and retracted ones are left out', async () => {
    const { builder, runId, treeId, stepId, rolloutId, annotate, retract } = recorded();
    annotate('a', { kind: 'step', stepId }, 'bad', -1);
    annotate('b', { kind: 'rollout', rolloutId }, 'good', 0.5);
    annotate('c', { kind: 'row', datasetId: builder.id('d'), line: 3 }, 'odd', 2);
    annotate('d', { kind: 'revision', revisionId: builder.id('r') }, 'bad', 3);
    retract(annotate('e', { kind: 'tree' }, 'bad').annotationId);
    await givenEvents(database.db, builder.events);
    expect(await labels({ runId })).toEqual(['bad', 'good', 'odd', 'bad']);
    expect(await labels({ treeId, retracted: true })).toEqual(['bad', 'good', 'odd', 'bad', 'bad']);
    expect(await labels({ stepId })).toEqual(['bad']);
    expect(await labels({ rolloutId })).toEqual(['good']);
    expect(await labels({ datasetId: builder.id('d') })).toEqual(['odd']);
    expect(await labels({ revisionId: builder.id('r') })).toEqual(['bad']);
    expect(await labels({ kind: 'row' })).toEqual(['odd']);
    expect(await labels({ scoreFrom: 0.5, scoreUntil: 3 })).toEqual(['good', 'odd']);
    expect(await labels({ principal: 'key:none' })).toEqual([]);
    expect(await countLabels(database.db, runId, 10)).toEqual([
      { label: 'bad', count: 2, meanScore: 1 },
      { label: 'good', count: 1, meanScore: 0.5 },
      { label: 'odd', count: 1, meanScore: 2 },
    ]);
  });

  test('pages hold annotations of two trees that have one id and one time, each once', async () => {
    const { builder, runId, treeId, annotate } = recorded();
    const { annotationId, added } = annotate('a', { kind: 'tree' }, 'one');
    const other = builder.tree(runId, 'other').treeId;
    const said = { annotationId, treeId: other, subject: { kind: 'tree' }, label: 'two', score: null, note: '' } as const;
    const second = builder.record('AnnotationAdded', said, runId);
    const events = builder.events.map((event) => (event === second ? { ...second, occurredAt: added.occurredAt } : event));
    await givenEvents(database.db, events);
    const trees: string[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const page = { limit: 1, towards: 'forwards', after, before: null } as const;
      const [found] = await readAnnotationPages(database.db, [{ runId }], ANNOTATION_ORDERINGS.ADDED_ASC, page);
      trees.push(...(found?.rows ?? []).map(({ row }) => row.treeId));
      after = found?.rows.at(-1)?.cursor ?? null;
      more = found?.hasNext ?? false;
    }
    expect(trees).toEqual([treeId, other].sort());
  });

  test('labels are counted the same in any batches', async () => {
    const { builder, stepId, annotate, retract } = recorded();
    const { annotationId } = annotate('a', { kind: 'step', stepId }, 'bad', 0.1);
    annotate('b', { kind: 'step', stepId }, 'bad', 0.2);
    annotate('c', { kind: 'tree' }, 'odd');
    retract(annotationId);
    retract(annotationId, 'twice');
    retract(annotate('d', { kind: 'tree' }, 'taken back', 5).annotationId);
    const expected = [
      { label: 'bad', count: 1, meanScore: 0.2 },
      { label: 'odd', count: 1, meanScore: null },
    ];
    await givenEvents(database.db, builder.events);
    expect(await countLabels(database.db, null, 10)).toEqual(expected);
    await emptyReadModels(database.db);
    for (const event of builder.events) await givenEvents(database.db, [event]);
    expect(await countLabels(database.db, null, 10)).toEqual(expected);
    expect(await countLabels(database.db, builder.id('another run'), 10)).toEqual([]);
  });

  test('an annotation of what is not on record yet is kept, and a retraction of none waits in quarantine', async () => {
    const { builder, annotate, retract } = recorded();
    annotate('early', { kind: 'step', stepId: builder.id('later') }, 'bad');
    const lost = retract(builder.id('nothing'));
    await givenEvents(database.db, builder.events);
    expect(await labels({})).toEqual(['bad']);
    expect(await database.db.selectFrom('quarantine').select(['projection', 'eventId', 'code', 'field']).execute()).toEqual([
      { projection: 'annotations', eventId: lost.id, code: 'missing-annotation', field: 'data.annotationId' },
    ]);
  });
});
