import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seedOf } from '../src/projections/lineage/recall-seeds.ts';
import { readTouched } from '../src/projections/lineage/recall-touched.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { appendTo, givenEvents, testLog } from '../src/testing/given-events.ts';
import { recordWeb, WEB_SCORERS } from '../src/testing/record-web.ts';
import { traceRecord } from '../src/usecases/lineage/trace-record.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const builder = new EventBuilder('graphql lineage');
beforeAll(async () => {
  api = await openTestGraphql();
  recordWeb(builder, 3);
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const TOUCHED = `runsTotal runs trees rollouts
  datasetsTotal datasets { datasetId name version examples withdrawn }
  batchesTotal batches { batchId policyId ordinal samples trained }
  versionsTotal versions { policyId version how }
  evaluationsTotal evaluations { runId policyId version meanReturn how }`;
const TRACE = `query ($id: String!) { trace(id: $id) { kind id title
  madeBy { total first { eventId type place occurredAt } }
  from { relation total first { id text } } usedBy { relation total first { id text } }
  touched { ${TOUCHED} } } }`;
const RECALL = `query ($what: RecallInput!) { recall(what: $what) { ${TOUCHED} } }`;

/** What the API says of what a read of the tables found. */
function shown({ runs, datasets, batches, versions, evaluations, trees, rollouts }: Awaited<ReturnType<typeof readTouched>>) {
  const totals = { runsTotal: runs.length, datasetsTotal: datasets.length, batchesTotal: batches.length };
  const lists = { runs, datasets, batches, versions, evaluations };
  return { ...totals, versionsTotal: versions.length, evaluationsTotal: evaluations.length, ...lists, trees, rollouts };
}

test('a trace shows what an id is, its events, its origins and all that resulted from it', async () => {
  const batch = builder.events.find(({ type }) => type === 'BatchPlanned');
  if (batch?.type !== 'BatchPlanned') throw new Error('a web plans batches');
  const { batchId } = batch.data;
  const { data, errors } = await api.ask(TRACE, { id: batchId.toUpperCase() });
  expect(errors).toBeUndefined();
  const read = await traceRecord(api.database.db, batchId);
  if (!read.touched) throw new Error('of a batch come versions');
  const trace = { ...read, touched: shown(read.touched) };
  expect(data.trace).toEqual(JSON.parse(JSON.stringify(trace)));
  expect(data.trace.madeBy.first).toEqual([expect.objectContaining({ eventId: batch.id, type: 'BatchPlanned' })]);
});

test('a trace shows its events as they were appended', async () => {
  const batch = builder.events.find(({ type }) => type === 'BatchPlanned');
  if (batch?.type !== 'BatchPlanned') throw new Error('a web plans batches');
  const asked = 'query ($id: String!) { trace(id: $id) { madeBy { first { eventId envelope } } } }';
  const { data, errors } = await api.ask(asked, { id: batch.data.batchId });
  expect(errors).toBeUndefined();
  expect(data.trace.madeBy.first).toEqual([{ eventId: batch.id, envelope: JSON.parse(JSON.stringify(batch)) }]);
});

test('a trace distinguishes upper and lower case in names', async () => {
  const { data } = await api.ask(TRACE, { id: 'Web-B#0' });
  expect(data.trace).toMatchObject({ kind: 'batch', title: expect.stringContaining('Web-B#0') });
  expect(await api.ask(TRACE, { id: 'web-b#0' })).toEqual({ data: { trace: null } });
});

test('a trace of an unrecorded id is null', async () => {
  expect(await api.ask(TRACE, { id: builder.id('nobody') })).toEqual({ data: { trace: null } });
  expect(await api.ask(TRACE, { id: 'nobody@7' })).toEqual({ data: { trace: null } });
});

test('a recall lists what used a scorer, a trajectory, a task or a run, and truncates on request', async () => {
  const [scorer] = WEB_SCORERS;
  const { db } = api.database;
  const rollout = await db.selectFrom('rollouts').select(['rolloutId', 'runId']).orderBy('rolloutId').executeTakeFirstOrThrow();
  const task = await db.selectFrom('trees').select('taskId').executeTakeFirstOrThrow();
  const asked = [
    [
      { scorer: `${scorer?.name}@${scorer?.revision}` },
      { kind: 'scorer', name: scorer?.name ?? '', revision: scorer?.revision ?? '' },
    ],
    [{ scorer: scorer?.name }, { kind: 'scorer', name: scorer?.name ?? '', revision: null }],
    [{ trajectory: rollout.rolloutId }, { kind: 'trajectory', rolloutId: rollout.rolloutId }],
    [{ task: task.taskId }, { kind: 'task', taskId: task.taskId }],
    [{ run: rollout.runId }, { kind: 'run', runId: rollout.runId }],
  ] as const;
  for (const [what, seed] of asked) {
    const touched = shown(await readTouched(db, await seedOf(db, seed)));
    expect(await api.ask(RECALL, { what })).toEqual({ data: { recall: touched } });
    expect(touched.rollouts).toBeGreaterThan(0);
  }
  const { data } = await api.ask(
    'query ($what: RecallInput!) { recall(what: $what) { versionsTotal versions(first: 1) { version } } }',
    {
      what: { run: rollout.runId },
    },
  );
  expect(data.recall.versionsTotal).toBeGreaterThan(1);
  expect(data.recall.versions).toHaveLength(1);
});

test('a recall as of a position lists what it listed when the record ended there', async () => {
  const then = await openTestGraphql();
  try {
    const { db } = then.database;
    const half = builder.events.findLastIndex(({ type }) => type === 'BatchAcked');
    const early = builder.events.slice(0, half);
    await givenEvents(db, early);
    const of = (type: string, field: string) =>
      early.filter((event) => event.type === type).map(({ data }) => (data as Record<string, unknown>)[field])[0];
    const asked = [
      ...WEB_SCORERS.map(({ name, revision }) => ({ scorer: `${name}@${revision}` })),
      { trajectory: of('RolloutFinished', 'rolloutId') },
      { run: of('RunStarted', 'runId') },
      { task: builder.id('task', 'x') },
    ];
    const recalls = [];
    for (const what of asked) recalls.push(await then.ask(RECALL, { what }));
    await givenEvents(db, builder.events.slice(half));
    const log = testLog();
    appendTo(log, early);
    const position = [...log.topics].map(([topic, records]) => `${topic}.0:${records.length}`).join(',');
    for (const [i, what] of asked.entries()) {
      const { data, errors } = await then.ask(
        `query ($what: RecallInput!, $position: String) { recall(what: $what) { rollouts } asOf(position: $position) { recall(what: $what) { ${TOUCHED} } } }`,
        { what, position },
      );
      expect(errors).toBeUndefined();
      expect({ data: data.asOf }).toEqual(recalls[i]);
      expect(data.asOf.recall.rollouts).toBeGreaterThan(0);
    }
  } finally {
    await then.close();
  }
});

test.each([
  [{}, 'what must name exactly one of scorer, trajectory, step, task, run and label'],
  [{ scorer: 'a@1', run: builder.id('x') }, 'what must name exactly one of scorer, trajectory, step, task, run and label'],
  [{ run: 'x' }, 'what.run must be a UUID, not "x"'],
  [{ run: builder.id('nobody') }, `there is no run ${builder.id('nobody')}; \`espalier status\` lists the runs`],
])('a recall of %j is refused with the reason', async (what, message) => {
  const { errors } = await api.ask(RECALL, { what });
  expect(errors?.map((error) => [error.message, error.extensions.code])).toEqual([[message, 'BAD_USER_INPUT']]);
});
