import { describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const sha = (digit: string) => digit.repeat(64);
const judge = { name: 'planner', revision: '2' };

function recorded() {
  const builder = new EventBuilder('revisions');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const good = builder.walk(tree, 0, 2, 1);
  const bad = builder.walk(tree, 1, 2, 0);
  const revisionId = builder.id('revision');
  const composed: DataOf<'RevisionComposed'> = {
    revisionId,
    treeId: tree.treeId,
    goodLeafStepId: good.steps[1]!, // a walk of two steps has two
    badLeafStepId: bad.steps[1]!,
    branchStepId: tree.rootStepId,
    transitionStepId: bad.steps[0]!,
    transitionCause: 'bad',
    judged: 1,
    reflection: 'I was too hasty.',
    signal: 'thought',
    alpha: 0.5,
    beta: 0.2,
    judge,
    contentHash: sha('c'),
  };
  return { builder, runId, tree, bad, revisionId, composed };
}

describe('what the step tree keeps of revisions', () => {
  test('the projection keeps a judgement with its question, its answer and its source', async () => {
    const { builder, runId, tree, bad } = recorded();
    const [stepId, leafStepId] = bad.steps as [string, string]; // two steps
    const data = { treeId: tree.treeId, leafStepId, stepId, index: 0, judge, promptHash: sha('a'), verdict: 'good' as const };
    const first = builder.record('StepJudged', { ...data, reply: 'closer' }, runId);
    const again = builder.record(
      'StepJudged',
      { ...data, leafStepId: stepId, reply: { blob: sha('b'), size: 70_000, mediaType: 't' } },
      runId,
    );
    await givenEvents(database.db, [...builder.events.slice(0, -1), { ...again, causationId: first.id }]);
    const rows = await database.db.selectFrom('judgements').selectAll().orderBy('logOffset').execute();
    const shared = {
      treeId: tree.treeId,
      runId,
      stepId,
      stepIndex: 0,
      judge: 'planner@2',
      promptHash: sha('a'),
    };
    expect(rows).toEqual([
      {
        ...shared,
        judgementId: first.id,
        leafStepId,
        verdict: 'good',
        reply: 'closer',
        reusedFrom: null,
        judgedAt: new Date(first.occurredAt),
        logOffset: expect.any(Number),
        blobs: null,
      },
      {
        ...shared,
        judgementId: again.id,
        leafStepId: stepId,
        verdict: 'good',
        reply: '',
        reusedFrom: first.id,
        judgedAt: new Date(again.occurredAt),
        logOffset: expect.any(Number),
        blobs: { reply: { blob: sha('b'), size: 70_000, mediaType: 't' } },
      },
    ]);
  });

  test.each(['at once', 'one by one'])(
    'the first outcome of a revision is kept and another is quarantined, whether events arrive %s',
    async (how) => {
      const { builder, runId, tree, revisionId, composed } = recorded();
      const { treeId } = tree;
      const composedEvent = builder.record('RevisionComposed', composed, runId);
      const verified = builder.record('RevisionVerified', { revisionId, treeId, reached: 1, threshold: 0.5 }, runId);
      builder.record('RevisionRejected', { revisionId, treeId, reason: 'below', reached: 0, stepId: null, detail: '' }, runId);
      if (how === 'at once') await givenEvents(database.db, builder.events);
      else for (const event of builder.events) await givenEvents(database.db, [event]);
      expect(await database.db.selectFrom('revisions').selectAll().execute()).toEqual([
        {
          revisionId,
          treeId,
          runId,
          goodLeafStepId: composed.goodLeafStepId,
          badLeafStepId: composed.badLeafStepId,
          branchStepId: composed.branchStepId,
          transitionStepId: composed.transitionStepId,
          transitionCause: 'bad',
          judged: 1,
          reflection: 'I was too hasty.',
          signal: 'thought',
          alpha: 0.5,
          beta: 0.2,
          judge: 'planner@2',
          contentHash: sha('c'),
          state: 'verified',
          reached: 1,
          threshold: 0.5,
          reason: null,
          detail: null,
          atStepId: null,
          composedAt: new Date(composedEvent.occurredAt),
          checkedAt: new Date(verified.occurredAt),
          logOffset: expect.any(Number),
        },
      ]);
      const aside = await database.db.selectFrom('quarantine').select(['projection', 'code', 'field', 'reason']).execute();
      const reason = `revision ${revisionId} was verified before; compose another to execute it again`;
      expect(aside).toEqual([{ projection: 'step-tree', code: 'conflict', field: 'data.revisionId', reason }]);
    },
  );

  test.each(['at once', 'one by one'])(
    'a revision whose parts are not on its bad path is quarantined, whether events arrive %s',
    async (how) => {
      const { builder, runId, tree, bad, composed } = recorded();
      const [first, leaf] = bad.steps as [string, string];
      const good = composed.goodLeafStepId;
      const wrong: readonly [keyof typeof composed, string][] = [
        ['transitionStepId', good],
        ['transitionStepId', tree.rootStepId],
        ['branchStepId', good],
        ['branchStepId', leaf],
        ['badLeafStepId', tree.rootStepId],
        ['goodLeafStepId', builder.id('no step')],
      ];
      for (const [i, [field, id]] of wrong.entries())
        builder.record('RevisionComposed', { ...composed, revisionId: builder.id('wrong', i), [field]: id }, runId);
      const whole = { ...composed, revisionId: builder.id('whole'), transitionStepId: leaf, branchStepId: first };
      builder.record('RevisionComposed', whole, runId);
      if (how === 'at once') await givenEvents(database.db, builder.events);
      else for (const event of builder.events) await givenEvents(database.db, [event]);
      const aside = await database.db.selectFrom('quarantine').select(['projection', 'field']).orderBy('offset').execute();
      expect(aside).toEqual(
        ['transitionStepId', 'transitionStepId', 'branchStepId', 'transitionStepId', 'transitionStepId', 'goodLeafStepId'].map(
          (field) => ({
            projection: 'step-tree',
            field: `data.${field}`,
          }),
        ),
      );
      expect(await database.db.selectFrom('revisions').select('revisionId').execute()).toEqual([
        { revisionId: whole.revisionId },
      ]);
    },
  );

  test('the projection keeps why and where a revision was rejected', async () => {
    const { builder, runId, tree, revisionId, composed } = recorded();
    builder.record('RevisionComposed', composed, runId);
    const stepId = composed.goodLeafStepId;
    const data = { revisionId, treeId: tree.treeId, reason: 'impossible' as const, reached: null, stepId, detail: 'used up' };
    builder.record('RevisionRejected', data, runId);
    await givenEvents(database.db, builder.events);
    const row = await database.db
      .selectFrom('revisions')
      .select(['state', 'reason', 'reached', 'atStepId', 'detail'])
      .executeTakeFirst();
    expect(row).toEqual({ state: 'rejected', reason: 'impossible', reached: null, atStepId: stepId, detail: 'used up' });
  });

  test('an outcome is quarantined when its tree has no such revision', async () => {
    const { builder, runId, tree, revisionId, composed } = recorded();
    builder.record('RevisionVerified', { revisionId, treeId: tree.treeId, reached: 1, threshold: 0.5 }, runId);
    const other = builder.tree(runId, 'other');
    builder.record('RevisionComposed', composed, runId);
    builder.record('RevisionVerified', { revisionId, treeId: other.treeId, reached: 1, threshold: 0.5 }, runId);
    await givenEvents(database.db, builder.events);
    const aside = await database.db.selectFrom('quarantine').select(['projection', 'code', 'field']).execute();
    const missing = { projection: 'step-tree', code: 'missing-revision', field: 'data.revisionId' };
    expect(aside).toEqual([missing, missing]);
    const { state } = await database.db.selectFrom('revisions').select('state').executeTakeFirstOrThrow();
    expect(state).toBe('composed');
  });
});
