import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { catalogue } from '../../src/events/catalogue.ts';
import { encode } from '../../src/events/codec.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import { withRequeue } from '../../src/events/with-requeue.ts';
import type { Subscription } from '../../src/log/event-log.ts';
import { formatPosition, positionAfter } from '../../src/log/position.ts';
import type { Notices } from '../../src/postgres/notices.ts';
import { projections } from '../../src/projections/registry.ts';
import { rewards } from '../../src/projections/rewards/rewards.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { type ReadEvent, readEvents } from '../testing/read-events.ts';

let api: TestGraphql;
let notifiedOnly: TestGraphql | Pick<TestGraphql, 'fetch' | 'ask'>;
let projector: Subscription;
let waiting = 0;

beforeAll(async () => {
  api = await openTestGraphql();
  notifiedOnly = await api.create({ notices: withoutPolls(api.notices) });
  projector = await runProjections({ log: api.log, database: api.database });
});
afterAll(async () => {
  await projector.close();
  await api.close();
});

/** Takes the net away, so that only a notice ends a wait; and counts who waits. */
function withoutPolls(notices: Notices): Pick<Notices, 'count' | 'beyond'> {
  return {
    get count() {
      return notices.count;
    },
    async beyond(count, _limitMs, signal) {
      waiting++;
      await notices.beyond(count, 600_000, signal);
      waiting--;
    },
  };
}

/** Appends events to the real log. Returns the position after them. */
async function append(events: readonly Envelope[]): Promise<string> {
  const records = events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) }));
  return formatPosition(positionAfter(await api.log.append(records)));
}

async function appendAndProject(events: readonly Envelope[]): Promise<string> {
  const position = await append(events);
  const answer = await api.ask('query ($position: String!) { waitFor(position: $position) { waitedMs } }', { position });
  expect(answer.errors).toBeUndefined();
  return position;
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !holds(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(holds()).toBe(true);
}

/** A run with some trees, so that events lie in all partitions of two topics. */
function record(name: string, trees: number): EventBuilder & { runId: string; treeIds: string[] } {
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const treeIds = Array.from({ length: trees }, (_, i) => {
    const tree = builder.tree(runId, `${name} ${i}`);
    builder.walk(tree, 0, 2, 1);
    return tree.treeId;
  });
  return Object.assign(builder, { runId, treeIds });
}

describe('waitFor(position)', () => {
  const query =
    'query ($position: String!, $run: ID!, $timeoutMs: Int! = 10000) { waitFor(position: $position, timeoutMs: $timeoutMs) { position waitedMs query { run(id: $run) { totals { trees rollouts steps meanReturn } } } } }';

  test('a read after waitFor sees everything appended before the position, woken by a notification alone', async () => {
    for (let i = 0; i < 5; i++) {
      const builder = record(`mine ${i}`, 3);
      const position = await append(builder.events);
      const answer = await notifiedOnly.ask(query, { position, run: builder.runId });
      expect(answer.errors).toBeUndefined();
      expect(answer.data.waitFor).toEqual({
        position,
        waitedMs: expect.any(Number),
        query: { run: { totals: { trees: 3, rollouts: 3, steps: 6, meanReturn: 1 } } },
      });
    }
  });

  test('waiting for the end of the log ends with no lag', async () => {
    await append(record('lag', 2).events);
    const { position } = (await api.ask('{ position }')).data;
    const answer = await api.ask(
      'query ($position: String!) { waitFor(position: $position) { query { lag { projection state lag partitions { topic partition cursor end lag } } } } }',
      { position },
    );
    const { lag } = answer.data.waitFor.query;
    expect(lag.map(({ projection }: { projection: string }) => projection)).toEqual(projections.map(({ name }) => name).sort());
    for (const { state, lag: behind, partitions } of lag) {
      expect({ state, behind }).toEqual({ state: 'running', behind: 0 });
      for (const partition of partitions) expect(partition.cursor).toBe(partition.end);
    }
    const journal = lag.find(({ projection }: { projection: string }) => projection === 'journal');
    const shown = journal.partitions.map(
      (p: { topic: string; partition: number; end: number }) => `${p.topic}.${p.partition}:${p.end}`,
    );
    expect(shown.join(',')).toBe(position);
  });

  test('waitFor reports the version and build that are read, and the shadow builds', async () => {
    const { db } = api.database;
    const at = { projection: 'rewards', digest: 'd' };
    const progress = { done: 400, of: 1_000, rate: 300 } as const;
    await db
      .insertInto('projectionBuilds')
      .values({ ...at, version: 2_000_002, state: 'building' })
      .execute();
    await db
      .updateTable('projectionBuilds')
      .set({ ...progress, toldAt: new Date('2026-01-01T00:00:00Z') })
      .execute();
    try {
      const fields = 'version build state done of rate secondsLeft toldAt';
      const { lag } = (await api.ask(`{ lag { projection version build builds { ${fields} } } }`)).data;
      expect(lag.find(({ projection }: { projection: string }) => projection === 'rewards')).toEqual({
        projection: 'rewards',
        version: rewards.version,
        build: 1,
        builds: [{ version: 2, build: 3, state: 'building', ...progress, secondsLeft: 2, toldAt: '2026-01-01T00:00:00.000Z' }],
      });
    } finally {
      await db.deleteFrom('projectionBuilds').execute();
    }
  });

  test('a position beyond the end of every log is refused at once', async () => {
    const answer = await api.ask(query, { position: 'trees.0:999999999', run: record('x', 0).runId });
    expect(answer.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/position lies past the end of the log, .*runs\.0:\d+/),
      extensions: { code: 'BAD_USER_INPUT' },
    });
    const nonsense = await api.ask(query, { position: 'soon', run: record('x', 0).runId });
    expect(nonsense.errors?.[0]?.message).toMatch(/position: "soon" is not topic.partition:offset; a position looks like/);
  });

  test.each([
    [
      'treez.0:999',
      'position names the topic "treez", which the log does not have; it has datasets, images, runs, training, trees',
    ],
    [
      'x.trees.0:0',
      'position names the topic "x.trees", which the log does not have; it has datasets, images, runs, training, trees',
    ],
    ['runs.0:0,trees.7:0', 'position names partition 7 of trees, which has 0, 1'],
    ['trees.7:1', 'position names partition 7 of trees, which has 0, 1'],
  ])('the position %s names an unknown topic or partition and is refused with the known ones', async (position, message) => {
    const answer = await api.ask('query ($position: String!) { waitFor(position: $position) { waitedMs } }', { position });
    expect(answer.errors).toEqual([
      expect.objectContaining({
        message: `${message}; pass a position that this server gave`,
        extensions: expect.objectContaining({ code: 'BAD_USER_INPUT', argument: 'position' }),
      }),
    ]);
  });

  test('waitFor times out with the projections that lag while no projector runs, and says when one has stopped', async () => {
    await projector.close();
    const builder = record('late', 1);
    const position = await append(builder.events);
    const late = await api.ask(query, { position, run: builder.runId, timeoutMs: 200 });
    expect(late.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/not reached within 200 ms by .*journal \(at .*runs\.0:.*, step-tree \(at .*trees/),
      extensions: { code: 'TIMED_OUT' },
    });
    const behind = (await api.ask('{ lag { projection lag } }')).data.lag;
    expect(behind).toContainEqual({ projection: 'journal', lag: builder.events.length });
    const state = (name: string, to: 'running' | 'stopped') =>
      api.database.db
        .updateTable('projections')
        .set({ state: to, reason: to === 'stopped' ? 'a bug' : null })
        .where('name', '=', name)
        .execute();
    await state('rewards', 'stopped');
    const stopped = await api.ask(query, { position, run: builder.runId });
    expect(stopped.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/the projection rewards stopped and will not reach the position: a bug/),
      extensions: { code: 'PROJECTION_STOPPED' },
    });
    await state('rewards', 'running');
    projector = await runProjections({ log: api.log, database: api.database });
    expect((await api.ask(query, { position, run: builder.runId })).errors).toBeUndefined();
  });
});

describe('the live tail', () => {
  const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id);

  test('the live tail delivers every event of a run once, each stream in order', async () => {
    const builder = record('whole', 4);
    await appendAndProject(builder.events);
    const reader = await readEvents(api, { after: '', run: builder.runId });
    const events = await reader.take(builder.events.length);
    await reader.leave();
    expect(new Set(idsOf(events))).toEqual(new Set(idsOf(builder.events)));
    for (const stream of [builder.runId, ...builder.treeIds]) {
      const ofStream = (all: readonly { stream: string; id: string }[]) => idsOf(all.filter((event) => event.stream === stream));
      expect(ofStream(events)).toEqual(ofStream(builder.events));
    }
  });

  test('the live tail resumes after the position of any event without gap or repetition', async () => {
    const builder = record('resume', 5);
    await appendAndProject(builder.events);
    const reader = await readEvents(api, { after: '', run: builder.runId });
    const all = await reader.take(builder.events.length);
    await reader.leave();
    await fc.assert(
      fc.asyncProperty(fc.nat(all.length - 2), async (at) => {
        const again = await readEvents(api, { after: all[at]?.position, run: builder.runId });
        const rest = await again.take(all.length - at - 1);
        await again.leave();
        expect(new Set(idsOf(rest))).toEqual(new Set(idsOf(all.slice(at + 1))));
      }),
      { numRuns: 2 },
    );
  });

  test('the live tail follows many small appends through reconnections of its reader, woken by notifications alone', async () => {
    const builder = record('arriving', 12);
    let reader = await readEvents(notifiedOnly, { run: builder.runId });
    const seen: ReadEvent[] = [];
    for (let from = 0; from < builder.events.length; from += 7) {
      const part = builder.events.slice(from, from + 7);
      await append(part);
      seen.push(...(await reader.take(part.length)));
      if (from % 3 === 0) {
        await reader.leave();
        reader = await readEvents(notifiedOnly, { run: builder.runId, after: seen.at(-1)?.position });
      }
    }
    await reader.leave();
    expect(idsOf(seen).sort()).toEqual(idsOf(builder.events).sort());
  });

  test('the live tail of one tree or of some types delivers nothing else', async () => {
    const builder = record('chosen', 3);
    await appendAndProject(builder.events);
    const [tree] = builder.treeIds;
    const ofTree = await readEvents(api, { after: '', tree });
    const expected = builder.events.filter(({ stream }) => stream === tree);
    expect(idsOf(await ofTree.take(expected.length))).toEqual(idsOf(expected));
    await ofTree.leave();
    const ofTypes = await readEvents(api, { after: '', run: builder.runId, types: ['RunStarted', 'RolloutFinished'] });
    const types = (await ofTypes.take(4)).map(({ type }) => type).sort();
    expect(types).toEqual(['RolloutFinished', 'RolloutFinished', 'RolloutFinished', 'RunStarted']);
    await ofTypes.leave();
  });

  test('the live tail delivers a requeued event at the place of its requeue, also to a reader past its first place', async () => {
    const builder = new EventBuilder('requeued to a subscriber');
    const tree = builder.tree(builder.run(), 'a');
    const rollout = builder.rollout(tree);
    builder.step(tree, rollout, builder.step(tree, rollout, tree.rootStepId, 1), 2);
    builder.reward(tree, tree.rootStepId, 1);
    const [run, opened, started, parent, early, reward] = builder.events as [
      Envelope,
      Envelope,
      Envelope,
      Envelope,
      Envelope,
      Envelope,
    ];
    const reader = await readEvents(api, { after: '', tree: tree.treeId });
    await appendAndProject([run, opened, started, early]); // the journal can read it, step-tree has no parent for it
    const unread = Buffer.from(JSON.stringify({ ...reward, schemaVersion: 99 }));
    const [waiting] = await api.log.append([{ topic: 'trees', key: tree.treeId, value: unread }]);
    await appendAndProject([parent]);
    const before = await reader.take(4);
    expect(before.map(({ id, requeuedFrom }) => [id, requeuedFrom])).toEqual(
      [opened, started, early, parent].map(({ id }) => [id, null]),
    );
    const places = [before[2]?.offset ?? Number.NaN, waiting?.offset ?? Number.NaN];
    const at = '2026-06-01T00:00:00.000Z';
    await api.log.append(
      [early, reward].map((event, i) => ({
        topic: 'trees',
        key: tree.treeId,
        value: Buffer.from(withRequeue(JSON.stringify(event), { offset: places[i] ?? 0, at, reason: null })),
      })),
    );
    const requeued = await reader.take(2);
    await reader.leave();
    expect(requeued.map(({ id, requeuedFrom }) => [id, requeuedFrom])).toEqual([
      [early.id, places[0]],
      [reward.id, places[1]],
    ]);
    const again = await readEvents(api, { after: before.at(-1)?.position, tree: tree.treeId });
    expect(idsOf(await again.take(2))).toEqual(idsOf(requeued)); // also who comes back for it
    await again.leave();
  });

  test('the live tail reads no more than its reader consumes', async () => {
    const builder = record('slow', 100);
    await appendAndProject(builder.events);
    api.statements();
    const slow = await readEvents(api, { after: '', run: builder.runId });
    const [first] = await slow.take(1);
    expect(first).toBeDefined();
    // One slice holds at most 64 events of each of the four partitions; the run has 601.
    expect(api.statements().filter((sql) => sql.includes('from cursors')).length).toBe(1);
    expect(await slow.take(builder.events.length - 1)).toHaveLength(600);
    await slow.leave();
  });

  test('the live tail stops waiting when the reader leaves', async () => {
    const builder = record('leaving', 1);
    await appendAndProject(builder.events);
    const before = waiting;
    const reader = await readEvents(notifiedOnly, { after: '', run: builder.runId });
    await reader.take(builder.events.length);
    void reader.take(1).catch(() => undefined); // pulls until the tail waits
    await until(() => waiting === before + 1);
    await reader.leave();
    await until(() => waiting === before);
  });

  test.each([
    [{ after: 'yesterday' }, /after: \\?"yesterday\\?" is not topic/],
    [
      { after: 'trees.0:999999999' },
      /after lies past the end of the log, .*trees\.0:\d+.*; pass a position that this server gave/,
    ],
    [{ after: 'treez.0:0' }, /after names the topic .*treez.*, which the log does not have; it has datasets, images, runs/],
    [{ after: 'trees.2:0' }, /after names partition 2 of trees, which has 0, 1/],
    [{ types: ['StepsTaken'] }, /no event type; `espalier schemas` lists them/],
    [{ run: '1' }, /run must be a UUID/],
  ])('the live tail refuses the argument %p', async (variables, message) => {
    await expect(readEvents(api, variables).then((reader) => reader.take(1))).rejects.toThrow(message);
  });
});
