import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { sha256Hex } from '../digest/sha256.ts';
import { encode } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import {
  appendRequeue,
  appendTo,
  givenEvents,
  projectSlice,
  requeueWaiting,
  type TestLog,
  testLog,
} from '../testing/given-events.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { isOf, type Projection } from './projection.ts';
import { projections } from './registry.ts';
import { runs } from './runs/runs.ts';
import { stepTree } from './step-tree/step-tree.ts';

const database = useTestDatabase({ emptied: 'before-each' });

interface Waiting {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly type: string | null;
  readonly code: string;
  readonly field: string;
  readonly reason: string;
}

async function waiting(): Promise<readonly Waiting[]> {
  return database.db
    .selectFrom('quarantine')
    .select(['projection', 'topic', 'partition', 'offset', 'type', 'code', 'field', 'reason'])
    .where('requeuedAt', 'is', null)
    .orderBy('topic')
    .orderBy('offset')
    .orderBy('projection')
    .execute();
}

/** Projects events and raw records in one batch per topic. */
async function given(records: Parameters<typeof appendTo>[1], using: readonly Projection[] = projections): Promise<TestLog> {
  const log = testLog();
  appendTo(log, records);
  for (const [topic, all] of log.topics) await projectSlice(database.db, log, topic, 0, all.length, using);
  return log;
}

describe('events before their parents', () => {
  test('a child waits with its descendants while later events are folded, and is requeued once the parent exists', async () => {
    const builder = new EventBuilder('late');
    const runId = builder.run();
    const early = builder.tree(runId, 'early');
    const late = builder.tree(runId, 'late');
    builder.walk(late, 0, 2, 1);
    builder.walk(early, 0, 2, 1);
    const isOpening = (event: Envelope) => event.type === 'TreeOpened' && event.stream === late.treeId;
    const opening = builder.events.filter(isOpening);
    await givenEvents(
      database.db,
      builder.events.filter((event) => !isOpening(event)),
    );
    const trees = () => database.db.selectFrom('rollouts').select(['treeId', 'outcome']).orderBy('treeId').execute();
    expect(await trees()).toEqual([{ treeId: early.treeId, outcome: 'terminated' }]);
    const ofTree = (await waiting()).filter(({ projection }) => projection === 'step-tree');
    expect(ofTree.map(({ type, code, field }) => ({ type, code, field }))).toEqual(
      ['RolloutStarted', 'StepTaken', 'StepTaken', 'RolloutFinished'].map((type) => ({
        type,
        code: 'missing-tree',
        field: 'data.treeId',
      })),
    );

    const refused = (await waiting()).map(({ offset: _, ...row }) => row);
    await requeueWaiting(database.db);
    expect((await waiting()).map(({ offset: _, ...row }) => row)).toEqual(refused); // at the places of their requeues
    await givenEvents(database.db, opening);
    await requeueWaiting(database.db);
    expect(await waiting()).toEqual([]);

    const { anomalies: _one, requeued_records: _requeues, ...requeued } = await readModels(database.db, PLACES);
    await emptyReadModels(database.db);
    await givenEvents(database.db, builder.events);
    const { anomalies: _two, requeued_records: _none, ...inOrder } = await readModels(database.db, PLACES);
    // The journal numbers a stream in the order of the log, which the late opening is the last of.
    expect({ ...requeued, events: [], stream_producers: [] }).toEqual({ ...inOrder, events: [], stream_producers: [] });
  });

  test('a second requeue of a requeued event changes nothing', async () => {
    const { log, offset } = await givenEarlyStep();
    const first = appendRequeue(log, 'trees', offset);
    await projectSlice(database.db, log, 'trees', first, first + 1);
    const { requeued_records: one, ...once } = await readModels(database.db, PLACES);
    const closed = await places();
    for (const waited of [offset, first]) {
      const at = appendRequeue(log, 'trees', waited); // of the record that waited, and of its requeue
      await projectSlice(database.db, log, 'trees', at, at + 1);
    }
    const { requeued_records: three, ...thrice } = await readModels(database.db, PLACES);
    expect(thrice).toEqual(once);
    expect([one?.length, three?.length]).toEqual([1, 3]);
    expect(await places()).toEqual(closed);
  });

  test('two requeues in one slice count once, at the place of the first', async () => {
    const { log, offset } = await givenEarlyStep();
    const [first, second] = [appendRequeue(log, 'trees', offset), appendRequeue(log, 'trees', offset)];
    await projectSlice(database.db, log, 'trees', first, second + 1);
    expect(await database.db.selectFrom('steps').select('logOffset').where('depth', '=', 2).execute()).toEqual([
      { logOffset: first },
    ]);
    expect(new Set((await places()).map(({ requeuedOffset }) => requeuedOffset))).toEqual(new Set([first]));
  });

  test('an event refused again waits at the place of its requeue, with the new reason', async () => {
    const { log, offset } = await givenEarlyStep(5); // of which its parent, once it is there, says another depth
    const requeue = appendRequeue(log, 'trees', offset);
    await projectSlice(database.db, log, 'trees', requeue - 1, requeue + 1, [stepTree]);
    expect((await waiting()).filter(({ projection }) => projection === 'step-tree')).toEqual([
      expect.objectContaining({ offset: requeue, code: 'depth', field: 'data.depth' }),
    ]);
  });

  /** A step before its parent, which is there by now; nothing was requeued. */
  async function givenEarlyStep(depth = 2) {
    const builder = new EventBuilder('early');
    const tree = builder.tree(builder.run());
    const rollout = builder.rollout(tree);
    builder.step(tree, rollout, builder.step(tree, rollout, tree.rootStepId, 1), depth);
    const [run, opened, started, parent, child] = builder.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
    const log = testLog();
    appendTo(log, [run, opened, started, child, parent]);
    for (const [topic, all] of log.topics) await projectSlice(database.db, log, topic, 0, all.length);
    return { log, offset: 2 };
  }

  const places = () =>
    database.db
      .selectFrom('quarantine')
      .select(['projection', 'offset', 'requeuedAt', 'requeuedOffset'])
      .orderBy('projection')
      .orderBy('offset')
      .execute();
});

const PLACES = ['offset', 'log_offset', 'partition'];

describe('bytes that are not an event', () => {
  test.each([
    ['no JSON', Buffer.from('hello'), { type: null, code: 'malformed' }],
    ['no UTF-8', Buffer.from([0xff, 0x00, 0x80]), { type: null, code: 'malformed' }],
    ['nothing', Buffer.alloc(0), { type: null, code: 'malformed' }],
    ['nested without end', Buffer.from('['.repeat(200_000)), { type: null, code: 'malformed' }],
    ['an event of an unknown type', Buffer.from('{"type":"Nope\\u0000"}'), { type: 'Nope\uFFFD', code: 'unknown-type' }],
    [
      'an event of an unknown version',
      Buffer.from('{"type":"RunStarted","schemaVersion":9}'),
      { type: 'RunStarted', code: 'unknown-version' },
    ],
  ])(
    'a record of the log (%s) waits unchanged in the quarantine of the journal, and later events are folded',
    async (_name, value, expected) => {
      const builder = new EventBuilder('raw');
      builder.run('before');
      const [before] = builder.events;
      builder.run('behind');
      const [, behind] = builder.events;
      if (!before || !behind) throw new Error('a run is one event');
      await given([before, { topic: 'runs', value }, behind]);
      const inJournal = (await waiting()).filter(({ projection }) => projection === 'journal');
      expect(inJournal).toEqual([expect.objectContaining({ offset: 1, ...expected })]);
      const [{ body } = { body: Buffer.alloc(0) }] = await database.db.selectFrom('quarantine').select('body').execute();
      expect(body.equals(value)).toBe(true);
      expect(await database.db.selectFrom('runs').select('name').orderBy('name').execute()).toEqual([
        { name: 'before' },
        { name: 'behind' },
      ]);
    },
  );
});

test('a record that nobody could read counts from the place of its requeue on, and the journal holds it there', async () => {
  const builder = new EventBuilder('upgrade');
  builder.run('unread');
  builder.run('behind');
  const [unread, behind] = builder.events as [Envelope, Envelope];
  const log = testLog();
  appendTo(log, [{ topic: 'runs', value: Buffer.from(JSON.stringify({ ...unread, schemaVersion: 9 })) }, behind]);
  await projectSlice(database.db, log, 'runs', 0, 2);
  expect(new Set((await waiting()).map(({ code }) => code))).toEqual(new Set(['unknown-version']));
  const at = appendRequeue(log, 'runs', 0, encode(unread)); // as a program that knows the version reads it
  await projectSlice(database.db, log, 'runs', at, at + 1);
  expect(await waiting()).toEqual([]);
  expect(await database.db.selectFrom('events').select(['eventId', 'offset']).orderBy('offset').execute()).toEqual([
    { eventId: behind.id, offset: 1 },
    { eventId: unread.id, offset: at },
  ]);
  expect(await database.db.selectFrom('runs').select('name').orderBy('name').execute()).toEqual([
    { name: 'behind' },
    { name: 'unread' },
  ]);
});

describe('valid events with unusual content', () => {
  test('an event that Postgres cannot store is isolated from its neighbours, waits alone, and is refused again on requeue', async () => {
    const builder = new EventBuilder('unstorable');
    for (let i = 0; i < 9; i++) builder.run(`run ${i}`);
    // Asks Postgres for a number that it cannot hold, as a column of a narrower type would.
    const narrow: Projection = {
      ...runs,
      async project(batch, trx) {
        const names = batch.flatMap((delivery) => (isOf(delivery, 'RunStarted') ? [delivery.event.data.name] : []));
        await sql`select (case when name = 'run 4' then 1e9 else 1 end)::smallint from unnest(${names}::text[]) as n(name)`.execute(
          trx,
        );
        return runs.project(batch, trx);
      },
    };
    const log = await given(builder.events, [narrow]);
    expect(await waiting()).toEqual([
      expect.objectContaining({
        projection: 'runs',
        offset: 4,
        code: 'unstorable',
        reason: expect.stringMatching(/^Postgres cannot store it: /),
      }),
    ]);
    const names = await database.db.selectFrom('runs').select('name').orderBy('name').execute();
    expect(names.map(({ name }) => name)).toEqual([0, 1, 2, 3, 5, 6, 7, 8].map((i) => `run ${i}`));
    await requeueWaiting(database.db, { log, projections: [narrow] });
    expect(await waiting()).toEqual([expect.objectContaining({ projection: 'runs', offset: 9, code: 'unstorable' })]);
  });

  test('an event whose JSON is null where its column takes none waits alone, and the projection continues', async () => {
    const builder = new EventBuilder('null');
    const runId = builder.run();
    const [renderSpecId, other] = [sha256Hex('null'), sha256Hex('{}')];
    builder.record('RenderSpecRegistered', { runId, renderSpecId, profile: 'none', spec: null }, runId);
    builder.record('RenderSpecRegistered', { runId, renderSpecId: other, profile: 'empty', spec: {} }, runId);
    await given(builder.events);
    const refused = (await waiting()).map(({ projection, type, code }) => ({ projection, type, code }));
    expect(refused).toEqual([{ projection: 'images', type: 'RenderSpecRegistered', code: 'unstorable' }]);
    expect(await database.db.selectFrom('renderSpecs').select('renderSpecId').execute()).toEqual([{ renderSpecId: other }]);
  });

  test('an event may have null as its configuration', async () => {
    const builder = new EventBuilder('null');
    builder.run('a', { config: null });
    await given(builder.events);
    expect(await waiting()).toEqual([]);
    expect(await database.db.selectFrom('runs').select(['name', 'config']).execute()).toEqual([{ name: 'a', config: {} }]);
  });

  test('the end of a rollout at a step that it did not take, and one that counts other steps than lead to it, wait with the reason', async () => {
    const builder = new EventBuilder('ends');
    const tree = builder.tree(builder.run());
    const walked = builder.walk(tree, 0, 2, 1);
    const [shared = '', leaf = ''] = walked.steps;
    const candidate = builder.step(tree, null, tree.rootStepId, 1);
    const ends = [
      [leaf, 2, 'not-taken', 'data.leafStepId'], // another took it
      [candidate, 0, 'not-taken', 'data.leafStepId'], // nobody did
      [shared, 1, 'steps', 'data.steps'], // where it began
    ] as const;
    for (const [i, [leafStepId, steps]] of ends.entries())
      builder.finishRollout(tree, builder.rollout(tree, i + 1, { fromStepId: shared }), leafStepId, { steps });
    const long = builder.rollout(tree, 9, { fromStepId: shared });
    builder.finishRollout(tree, long, builder.step(tree, long, shared, 2), { steps: 55 });
    const branched = builder.rollout(tree, 10, { fromStepId: shared });
    builder.finishRollout(tree, branched, builder.step(tree, branched, shared, 2), { steps: 1 });
    builder.finishRollout(tree, builder.rollout(tree, 11, { fromStepId: shared }), shared, { steps: 0 });
    await given(builder.events);
    const refused = [...ends.map(([, , code, field]) => ({ code, field })), { code: 'steps', field: 'data.steps' }];
    for (const projection of ['step-tree', 'rewards'])
      expect((await waiting()).filter((each) => each.projection === projection)).toMatchObject(refused);
    const rows = await database.db
      .selectFrom('rollouts')
      .select('steps')
      .where('finishedAt', 'is not', null)
      .orderBy('ordinal')
      .execute();
    expect(rows).toEqual([{ steps: 2 }, { steps: 1 }, { steps: 0 }]);
    expect(await database.db.selectFrom('returns').select('rolloutId').execute()).toHaveLength(3);
  });

  test('events whose parents form a ring wait, and the walk to the root ends', async () => {
    const builder = new EventBuilder('ring');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const rolloutId = builder.rollout(tree);
    const [a, b] = [builder.id('a'), builder.id('b')];
    builder.step(tree, rolloutId, b, 1, { stepId: a });
    builder.step(tree, rolloutId, a, 2, { stepId: b });
    builder.reward(tree, a, 1, { rolloutId });
    builder.finishRollout(tree, rolloutId, a);
    const behind = builder.walk(tree, 1, 1, 1);
    await given(builder.events);
    const ofTree = (await waiting()).filter(({ projection }) => projection === 'step-tree');
    expect(ofTree.map(({ type, code }) => `${type} ${code}`)).toEqual([
      'StepTaken missing-parent',
      'StepTaken missing-parent',
      'RolloutFinished missing-parent',
    ]);
    const returned = await database.db.selectFrom('returns').select('value').where('rolloutId', '=', behind.rolloutId).execute();
    expect(returned).toEqual([{ value: 1 }]);
  });
});
