import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { buildSchema, type GraphQLObjectType, type GraphQLSchema, getNamedType, isObjectType, isRequiredArgument } from 'graphql';
import type { Envelope } from '../../src/events/envelope.ts';
import type { Offsets } from '../../src/log/event-log.ts';
import { formatPosition } from '../../src/log/position.ts';
import { arbitraryRecord } from '../../src/testing/arbitrary-record.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { everyEvent } from '../../src/testing/every-event.ts';
import { appendTo, givenEvents, testLog } from '../../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { readTypeDefs } from '../type-defs.ts';

let api: TestGraphql;
/** The same with room for a query that asks for everything. */
let wide: Pick<TestGraphql, 'ask'>;
let schema: GraphQLSchema;
beforeAll(async () => {
  schema = buildSchema(await readTypeDefs());
});
beforeEach(begin);
afterEach(() => api.close());

/** A record of its own: of one log a position is never used again, and what was folded for it is kept. */
async function begin(): Promise<void> {
  api = await openTestGraphql();
  const much = 100_000_000;
  const blobs = { get: async () => Buffer.from('a large text') }; // what these events name is not stored
  wide = await api.create({
    blobs,
    limits: { tokens: much, depth: 40, aliases: 1_000, cost: 1e12 },
  });
}

/** The position of the log after so many events. */
function positionAfter(events: readonly Envelope[]): string {
  const log = testLog();
  appendTo(log, events);
  const offsets: Offsets = new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
  return formatPosition(offsets);
}

const OF_NOW = new Set(['lag', 'position', 'waitFor', 'asOf']); // of the log, not of what is folded from it

/** Selects every field that needs no argument, some levels deep; below that what has no fields. */
function everything(type: GraphQLObjectType, depth: number): string {
  const fields = Object.values(type.getFields()).flatMap((field) => {
    if (type.name === 'Query' && OF_NOW.has(field.name)) return [];
    if (type.name === 'RunActivity' && field.name === 'eventsPerSecond') return []; // of the last minute, where a run goes on now
    if (field.args.some(isRequiredArgument)) return [];
    const of = getNamedType(field.type);
    if (!isObjectType(of)) return [field.name];
    const inner = depth === 0 ? '' : everything(of, depth - 1);
    return inner === '' ? [] : [`${field.name} { ${inner} }`];
  });
  return fields.join(' ');
}

function typeNamed(name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new Error(`${name} is no object type`);
  return type;
}

/** Asks for all lists, and for a run, a tree, a step and a rollout by their ids with all that hangs on them. */
function questions(events: readonly Envelope[]): readonly string[] {
  const of = (type: string, field: string) =>
    events.filter((event) => event.type === type).map(({ data }) => (data as Record<string, unknown>)[field]);
  const [run] = of('RunStarted', 'runId');
  const tree = of('TreeOpened', 'treeId').at(-1);
  const step = of('StepTaken', 'stepId').at(-1);
  const rollout = of('RolloutFinished', 'rolloutId').at(-1);
  const one = (field: string, argument: string, id: unknown, type: string, depth: number) =>
    id === undefined ? [] : [`${field}(${argument}: "${String(id)}") { ${everything(typeNamed(type), depth)} }`];
  return [
    everything(typeNamed('Query'), 3),
    ...one('run', 'id', run, 'Run', 1),
    ...one('trace', 'id', run, 'Trace', 2),
    ...one('trace', 'id', tree, 'Trace', 2),
    ...one('trace', 'id', step, 'Trace', 2),
    ...one('revision', 'id', of('RevisionComposed', 'revisionId')[0], 'Revision', 1),
    ...one('dataset', 'id', of('DatasetReleased', 'datasetId')[0], 'Dataset', 1),
    ...one('batch', 'id', of('BatchPlanned', 'batchId')[0], 'Batch', 1),
    ...one('tree', 'id', tree, 'Tree', 2),
    ...(tree === undefined ? [] : [`tree(id: "${String(tree)}") { ${OF_TREE} }`]),
    ...(tree === undefined || run === undefined
      ? []
      : [`tree(id: "${String(tree)}") { id } run(id: "${String(run)}") { ${OF_RUN} }`]),
    ...(step === undefined
      ? []
      : [`step(id: "${String(step)}") { ${OF_STEP} path { id } } path(leaf: "${String(step)}") { ${OF_STEP} }`]),
    ...(rollout === undefined
      ? []
      : [
          `trace(id: "${String(rollout)}") { ${everything(typeNamed('Trace'), 2)} }`,
          `rollout(id: "${String(rollout)}") { ${OF_ROLLOUT} } trajectory(rollout: "${String(rollout)}") { return length returns { component value } }`,
        ]),
  ];
}

const OF_STEP =
  'id logOffset action observation rewards { value assignedValue revisions { value } } statistics { visits value } toolCalls { tool } divergences { id }';
const OF_ROLLOUT =
  'id outcome return success leaf { id } policy { id version } rewards { value } trajectory { return steps { id } } imageTotals { images saved }';
const OF_TREE = `id closedAt size { steps depth leaves } simulations steps { ${OF_STEP} historyImage { id saved hits } } leaves { id } rollouts { ${OF_ROLLOUT} }
  trajectories(filter: { success: true }) { totalCount nodes { id return } } revisions { nodes { state turns { response loss } judgements { verdict } } } judgements { verdict step { id } } divergences { field }`;
const OF_RUN = `id finishedAt totals { trees steps successes meanReturn } imageTotals { images } successByDepth { rollouts meanReturn } evaluation { meanReturn } replays { mode }
  metrics { value } trees { totalCount nodes { ${OF_TREE} run { name } } } rollouts { nodes { id run { id } } } trajectories { nodes { id return } } revisions { totalCount }`;

async function expectAsItStood(events: readonly Envelope[], cut: number): Promise<void> {
  await api.close();
  await begin();
  const asked = questions(events);
  const first = events.slice(0, cut);
  await givenEvents(api.database.db, first);
  const then = [];
  for (const question of asked) then.push(await wide.ask(`{ ${question} }`));
  await givenEvents(api.database.db, events.slice(cut));
  const position = positionAfter(first);
  for (const [i, question] of asked.entries()) {
    const { data, errors } = await wide.ask(`query ($position: String) { asOf(position: $position) { ${question} } }`, {
      position,
    });
    expect([then[i]?.errors, errors]).toEqual([undefined, undefined]);
    expect(data?.asOf).toEqual(then[i]?.data);
  }
}

/** Rewards of an ordinary size: sums beyond the range of a double are set aside, which is another test's matter. */
function moderate(events: readonly Envelope[]): readonly Envelope[] {
  return events.map((event) =>
    event.type === 'RewardAssigned' || event.type === 'RewardRevised'
      ? { ...event, data: { ...event.data, value: event.data.value % 1_000 } }
      : event,
  ) as readonly Envelope[]; // the same types, with another number in one field
}

describe('reads as of a position', () => {
  test('a read as of a position returns what was read when the record ended there', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryRecord.map(moderate), fc.nat(), (events, cut) =>
        expectAsItStood(events, cut % (events.length + 1)),
      ),
      { numRuns: 2, endOnFailure: true },
    );
  });

  test('a read as of a position returns what was read when the record ended there, for every type of event', async () => {
    const events = everyEvent();
    await expectAsItStood(events, events.length - 2);
  });

  test('a read as of a position shows the reward as assigned, not as revised later', async () => {
    const builder = new EventBuilder();
    const tree = builder.tree(builder.run(), 'a');
    const walk = builder.walk(tree, 0, 2, 1);
    const [first = ''] = walk.steps;
    const rewardId = builder.reward(tree, first, 0.25, { component: 'process' });
    const before = positionAfter(builder.events);
    builder.record(
      'RewardRevised',
      { rewardId, treeId: tree.treeId, value: 4, scorer: { name: 'judge', revision: '2' }, reason: 'again' },
      tree.runId,
    );
    await givenEvents(api.database.db, builder.events);
    const fields = 'trajectory(rollout: $rollout) { return } step(id: $step) { rewards { value assignedValue revisionCount } }';
    const { data } = await api.ask(
      `query ($rollout: ID!, $step: ID!, $before: String) { ${fields} then: asOf(position: $before) { ${fields} } }`,
      {
        rollout: walk.rolloutId,
        step: first,
        before,
      },
    );
    expect(data.trajectory.return - data.then.trajectory.return).toBe(3.75);
    expect(data.step.rewards).toContainEqual({ value: 4, assignedValue: 0.25, revisionCount: 1 });
    expect(data.then.step.rewards).toContainEqual({ value: 0.25, assignedValue: 0.25, revisionCount: 0 });
  });

  test('one request reads several positions and the present side by side', async () => {
    const builder = new EventBuilder();
    const run = builder.run();
    const early = positionAfter(builder.events);
    builder.tree(run, 'a');
    const later = positionAfter(builder.events);
    builder.tree(run, 'b');
    await givenEvents(api.database.db, builder.events);
    const trees = 'trees { totalCount }';
    const { data, errors } = await api.ask(
      `query ($early: String, $later: String) {
        ${trees} early: asOf(position: $early) { position ${trees} } later: asOf(position: $later) { position lag { projection lag } ${trees} } }`,
      { early, later },
    );
    expect(errors).toBe(undefined);
    expect(data.trees.totalCount).toBe(2);
    expect(data.early).toEqual({ position: early, trees: { totalCount: 0 } });
    expect(data.later).toMatchObject({ position: later, trees: { totalCount: 1 } });
    expect(new Set(data.later.lag.map(({ lag }: { lag: number }) => lag))).toEqual(new Set([0]));
  });

  test('within waitFor each asOf has its own moment, and what is next to it is read now', async () => {
    const builder = new EventBuilder('nested');
    const runId = builder.run('nested');
    const before = positionAfter([]);
    builder.tree(runId);
    await givenEvents(api.database.db, builder.events);
    const [run, position] = [`run(id: "${runId}") { trees { totalCount } }`, positionAfter(builder.events.slice(0, 1))];
    const { data, errors } = await api.ask(
      `{ waitFor(position: "${before}") { query { now: ${run} none: asOf(position: "") { ${run} } one: asOf(position: "${position}") { ${run} } } } }`,
    );
    expect(errors).toBeUndefined();
    const counted = (totalCount: number) => ({ trees: { totalCount } });
    expect(data.waitFor.query).toEqual({ now: counted(1), none: { run: null }, one: { run: counted(0) } });
  });

  test('a time selects a moment as a position does', async () => {
    const builder = new EventBuilder();
    const run = builder.run();
    const tree = builder.tree(run, 'a');
    await givenEvents(api.database.db, builder.events);
    const time = (await api.ask(`{ run(id: "${run}") { startedAt } }`)).data.run.startedAt;
    const { data } = await api.ask(
      `query ($time: DateTime) { asOf(time: $time) { position run(id: "${run}") { id } tree(id: "${tree.treeId}") { id } } }`,
      { time },
    );
    expect(data.asOf).toEqual({ position: 'runs.0:1', run: { id: run }, tree: null });
  });
});

describe('asOf', () => {
  test.each([
    ['{ asOf { runs { totalCount } } }', 'BAD_USER_INPUT', 'asOf takes a position or a time, one of them'],
    [
      '{ asOf(position: "", time: "2026-01-01T00:00:00Z") { position } }',
      'BAD_USER_INPUT',
      'asOf takes a position or a time, one of them',
    ],
    [
      '{ asOf(position: "runs.0") { position } }',
      'BAD_USER_INPUT',
      'position: "runs.0" is not topic.partition:offset; a position looks like runs.0:3,trees.2:41, pass one that this server gave',
    ],
    [
      '{ asOf(position: "runs.0:1") { position } }',
      'BAD_USER_INPUT',
      'position: the position lies beyond what is journalled, nothing yet; wait for it (waitFor), or pass one that this server gave',
    ],
    [
      '{ asOf(position: "") { asOf(position: "") { position } } }',
      'BAD_USER_INPUT',
      'this is read as of the beginning; ask asOf next to it, not within it',
    ],
    [
      '{ asOf(position: "") { waitFor(position: "") { waitedMs } } }',
      'BAD_USER_INPUT',
      'nothing is waited for as of the beginning; put asOf within waitFor',
    ],
    [
      '{ asOf(position: "") { trees(first: 500) { nodes { steps { rewards { id } } } } } }',
      'LIMIT_EXCEEDED',
      expect.stringMatching(/^the limit "cost" is 150000, and this is \d+/),
    ],
  ])('asOf refuses %s', async (query, code, message) => {
    const { errors } = await api.ask(query);
    expect(errors).toEqual([expect.objectContaining({ message, extensions: expect.objectContaining({ code }) })]);
  });

  test('asOf releases the snapshots it read when the request is answered', async () => {
    const { snapshots } = api;
    let held = 0;
    const counting = await api.create({
      snapshots: {
        async at(...args) {
          const snapshot = await snapshots.at(...args);
          held++;
          return {
            ...snapshot,
            release: () => {
              held--;
              snapshot.release();
            },
          };
        },
      },
    });
    await counting.ask('{ a: asOf(position: "") { trees { totalCount } } b: asOf(position: "") { step(id: "x") { id } } }');
    expect(held).toBe(0);
  });
});
