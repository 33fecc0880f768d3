import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../events/envelope.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { appendTo, givenEvents, projectSlice, testLog } from '../testing/given-events.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { Story } from '../testing/story.ts';
import { isOf, type Projection } from './projection.ts';
import { releaseFromQuarantine } from './quarantine.ts';
import { projections } from './registry.ts';
import { runs } from './runs/runs.ts';

const unstorable = { code: 'unstorable', field: '', reason: 'Postgres cannot store it' } as const;

let test_database: TestDatabase;
let database: Database;
beforeAll(async () => {
  test_database = await createTestDatabase();
  database = await openDatabase(test_database.url);
});
afterAll(async () => {
  await database.close();
  await test_database.drop();
});
beforeEach(() => emptyReadModels(database.db));

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
    .where('released_at', 'is', null)
    .orderBy('topic')
    .orderBy('offset')
    .orderBy('projection')
    .execute();
}

/** Releases all that waits, in log order, until nothing more goes. Gives what was said of each in the last round. */
async function releaseAll(using: readonly Projection[] = projections): Promise<readonly string[]> {
  const said: string[] = [];
  for (const row of await waiting()) {
    const projection = using.find(({ name }) => name === row.projection);
    if (!projection) throw new Error(`there is no projection ${row.projection}`);
    const released = await releaseFromQuarantine(database.db, projection, row);
    said.push(released.kind === 'released' ? 'released' : released.reason);
  }
  return said;
}

/** Projects events and raw records in one batch per topic. */
async function given(records: Parameters<typeof appendTo>[1], using: readonly Projection[] = projections): Promise<void> {
  const log = testLog();
  appendTo(log, records);
  for (const [topic, all] of log.topics) await projectSlice(database.db, log, topic, 0, all.length, using);
}

describe('an event before its parent', () => {
  test('waits with its descendants while what comes behind is folded, and is released once the parent is there', async () => {
    const story = new Story('late');
    const runId = story.run();
    const early = story.tree(runId, 'early');
    const late = story.tree(runId, 'late');
    story.walk(late, 0, 2, 1);
    story.walk(early, 0, 2, 1);
    const isOpening = (event: Envelope) => event.type === 'TreeOpened' && event.stream === late.treeId;
    const opening = story.events.filter(isOpening);
    await givenEvents(
      database.db,
      story.events.filter((event) => !isOpening(event)),
    );
    const trees = () => database.db.selectFrom('rollouts').select(['tree_id', 'outcome']).orderBy('tree_id').execute();
    expect(await trees()).toEqual([{ tree_id: early.treeId, outcome: 'terminated' }]);
    const ofTree = (await waiting()).filter(({ projection }) => projection === 'step-tree');
    expect(ofTree.map(({ type, code, field }) => ({ type, code, field }))).toEqual(
      ['RolloutStarted', 'StepTaken', 'StepTaken', 'RolloutFinished'].map((type) => ({
        type,
        code: 'missing-tree',
        field: 'data.treeId',
      })),
    );

    expect(await releaseAll()).toEqual(
      (await waiting()).map(() => expect.stringMatching(/never opened; append its TreeOpened first/)),
    );
    await givenEvents(database.db, opening);
    expect(new Set(await releaseAll())).toEqual(new Set(['released']));
    expect(await waiting()).toEqual([]);

    const { anomalies: _one, ...released } = await readModels(database.db, PLACES);
    await emptyReadModels(database.db);
    await givenEvents(database.db, story.events);
    const { anomalies: _two, ...inOrder } = await readModels(database.db, PLACES);
    // The journal numbers a stream in the order of the log, which the late opening is the last of.
    expect({ ...released, events: [], stream_producers: [] }).toEqual({ ...inOrder, events: [], stream_producers: [] });
  });

  test('that is released a second time, or where nothing waits, changes nothing and says so', async () => {
    const [projection] = projections;
    if (!projection) throw new Error('there are projections');
    expect(await releaseFromQuarantine(database.db, projection, { topic: 'trees', partition: 0, offset: 4 })).toEqual({
      kind: 'refused',
      reason: 'nothing of journal is quarantined at trees.0:4',
    });
  });
});

const PLACES = ['offset', 'log_offset', 'partition'];

describe('bytes that are no event', () => {
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
  ])('%s, wait in the quarantine of the journal, whole, and what comes behind is folded', async (_name, value, expected) => {
    const story = new Story('raw');
    story.run('before');
    const [before] = story.events;
    story.run('behind');
    const [, behind] = story.events;
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
  });
});

describe('an event that fits its schema', () => {
  test('and that Postgres cannot store is found among its neighbours, waits alone, and stays when it is released', async () => {
    const story = new Story('unstorable');
    for (let i = 0; i < 9; i++) story.run(`run ${i}`);
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
    await given(story.events, [narrow]);
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
    expect(await releaseAll([narrow])).toEqual([expect.stringMatching(/^Postgres cannot store it: /)]);
    expect(await waiting()).toHaveLength(1);
  });

  test('but was set aside because a key could not be stored is released by a program that replaces such keys', async () => {
    const story = new Story('keys');
    story.run('run', { config: { 'a\0b': 1 } });
    const refusing: Projection = { ...runs, project: async (batch) => batch.map((delivery) => ({ delivery, ...unstorable })) };
    await given(story.events, [refusing]);
    expect(await releaseAll()).toEqual(['released']);
    expect(await database.db.selectFrom('runs').select('config').execute()).toEqual([{ config: { 'a\uFFFDb': 1 } }]);
  });

  test('may have null for a configuration', async () => {
    const story = new Story('null');
    story.run('a', { config: null });
    await given(story.events);
    expect(await waiting()).toEqual([]);
    expect(await database.db.selectFrom('runs').select(['name', 'config']).execute()).toEqual([{ name: 'a', config: {} }]);
  });

  test('and names its parents in a ring waits; the walk up to the root ends', async () => {
    const story = new Story('ring');
    const runId = story.run();
    const tree = story.tree(runId);
    const rolloutId = story.rollout(tree);
    const [a, b] = [story.id('a'), story.id('b')];
    story.step(tree, rolloutId, b, 1, { stepId: a });
    story.step(tree, rolloutId, a, 2, { stepId: b });
    story.reward(tree, a, 1, { rolloutId });
    story.finishRollout(tree, rolloutId, a);
    const behind = story.walk(tree, 1, 1, 1);
    await given(story.events);
    const ofTree = (await waiting()).filter(({ projection }) => projection === 'step-tree');
    expect(ofTree.map(({ type, code }) => `${type} ${code}`)).toEqual([
      'StepTaken missing-parent',
      'StepTaken missing-parent',
      'RolloutFinished missing-parent',
    ]);
    const returned = await database.db.selectFrom('returns').select('value').where('rollout_id', '=', behind.rolloutId).execute();
    expect(returned).toEqual([{ value: 1 }]);
  });
});
