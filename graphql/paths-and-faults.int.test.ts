import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestRecord, type TestRecord } from './testing/test-record.ts';

let api: TestRecord['api'];
let builder: TestRecord['builder'];
let run: TestRecord['run'];
let tree: TestRecord['tree'];
let good: TestRecord['good'];
let poor: TestRecord['poor'];
let going: TestRecord['going'];
beforeAll(async () => {
  ({ api, builder, run, tree, good, poor, going } = await openTestRecord());
});
afterAll(() => api.close());

async function data(query: string, variables = {}) {
  const answer = await api.ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return answer.data;
}

describe('trajectories', () => {
  test('a trajectory shows the path of a finished rollout with its return, in total and by component', async () => {
    const found = await data(
      'query ($rollout: ID!) { trajectory(rollout: $rollout) { id return returns { component value rewards } length leafId steps { id } rewards { component value } only: rewards(component: "length") { value } rollout { success stepCount return rewards { component } } tree { id } } }',
      { rollout: good.rolloutId },
    );
    expect(found.trajectory).toEqual({
      id: good.rolloutId,
      return: 1.375,
      returns: [
        { component: 'environment', value: 1, rewards: 1 },
        { component: 'length', value: -0.125, rewards: 1 },
        { component: 'process', value: 0.5, rewards: 1 },
      ],
      length: 3,
      leafId: good.steps[2],
      steps: [{ id: tree.rootStepId }, ...good.steps.map((id) => ({ id }))],
      rewards: [
        { component: 'process', value: 0.5 },
        { component: 'environment', value: 1 },
        { component: 'length', value: -0.125 },
      ],
      only: [{ value: -0.125 }],
      rollout: { success: true, stepCount: 3, return: 1.375, rewards: [{ component: 'length' }] },
      tree: { id: tree.treeId },
    });
  });

  test('an unfinished rollout has no trajectory', async () => {
    const found = await data(
      'query ($id: ID!) { trajectory(rollout: $id) { id } rollout(id: $id) { finishedAt return trajectory { id } leaf { id } } }',
      { id: going },
    );
    expect(found).toEqual({ trajectory: null, rollout: { finishedAt: null, return: null, trajectory: null, leaf: null } });
  });

  test.each([
    ['{ return: { from: 1 } }', () => [good.rolloutId]],
    ['{ return: { until: 1.375 } }', () => [poor.rolloutId]],
    ['{ success: false }', () => [poor.rolloutId]],
    ['{ outcomes: [terminated, failed] }', () => [poor.rolloutId, good.rolloutId]],
    ['{ outcomes: [] }', () => []],
    ['{ stepCount: { from: 3 } }', () => [good.rolloutId]],
    [
      '{ policy: "random", policyVersion: { from: 0, until: 1 }, environment: "textcraft" }',
      () => [poor.rolloutId, good.rolloutId],
    ],
    ['{ policyVersion: { from: 1 } }', () => []],
    ['{ finishedIn: { until: "2026-01-01T00:00:13Z" } }', () => [good.rolloutId]],
  ])('the filter %s selects trajectories', async (filter, ids) => {
    const found = await data(`{ trajectories(filter: ${filter}) { nodes { id } } }`);
    expect(found.trajectories.nodes.map(({ id }: { id: string }) => id)).toEqual(ids());
  });

  test('a path is requested by the id of its last step; the path of an unknown step is empty', async () => {
    expect((await data('query ($leaf: ID!) { path(leaf: $leaf) { depth } }', { leaf: good.steps[1] })).path).toEqual([
      { depth: 0 },
      { depth: 1 },
      { depth: 2 },
    ]);
    expect((await data('query ($leaf: ID!) { path(leaf: $leaf) { depth } }', { leaf: builder.id('nothing') })).path).toEqual([]);
  });
});

describe('faults in the log', () => {
  test('anomalies of the journal and quarantined events are listed', async () => {
    const odd = new EventBuilder('odd');
    const runId = odd.run();
    const [started] = odd.events;
    const orphan = odd.step({ treeId: odd.id('no tree'), runId }, null, odd.id('no parent'), 1);
    const events = odd.events.map((event) => (event.type === 'StepTaken' ? { ...event, sequence: 5 } : event));
    if (started) await givenEvents(api.database.db, [...events, started]);
    const found = await data(
      '{ anomalies(first: 10) { totalCount nodes { kind detail stream } } quarantine(filter: { requeued: false, projection: "step-tree" }) { totalCount nodes { projection type code field reason body size requeuedAt } } }',
    );
    expect(found.anomalies.nodes).toContainEqual({ kind: 'duplicate', detail: expect.any(String), stream: runId });
    expect(found.anomalies.nodes).toContainEqual({ kind: 'gap', detail: expect.stringMatching(/5/), stream: odd.id('no tree') });
    expect(found.anomalies.totalCount).toBe(found.anomalies.nodes.length);
    expect(found.quarantine.totalCount).toBe(1);
    const [record] = found.quarantine.nodes;
    expect(record).toMatchObject({
      projection: 'step-tree',
      type: 'StepTaken',
      requeuedAt: null,
      reason: expect.stringMatching(/./),
    });
    expect(record.body).toContain(orphan);
    expect(record.size).toBe(Buffer.byteLength(record.body));
  });
});

describe('refused arguments', () => {
  test.each([
    ['{ run(id: "7") { id } }', 'id must be a UUID, not "7"'],
    ['{ path(leaf: "x") { id } }', 'leaf must be a UUID, not "x"'],
    [`{ trajectories(filter: { tree: "' or 1=1" }) { nodes { id } } }`, `filter.tree must be a UUID, not "' or 1=1"`],
    [
      '{ runs(filter: { started: { from: "yesterday" } }) { nodes { id } } }',
      'a DateTime is an ISO 8601 instant with its zone, such as 2026-01-31T09:30:00Z, not "yesterday"',
    ],
    ['{ runs(filter: { started: { from: "2026-01-01T00:00:00" } }) { nodes { id } } }', 'with its zone'],
    ['{ asOf(time: "2026-02-30T00:00:00Z") { position } }', 'not "2026-02-30T00:00:00Z"'], // there is no such day
  ])('the query %s is refused and the message names the argument', async (query, message) => {
    const answer = await api.ask(query);
    expect(answer.errors?.[0]?.message).toContain(message);
    expect(['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED']).toContain(answer.errors?.[0]?.extensions.code);
  });

  test('a list below a record accepts no filter for another record', async () => {
    const answer = await api.ask(
      'query ($id: ID!, $other: ID!) { run(id: $id) { trees(filter: { run: $other }) { nodes { id } } } }',
      { id: run, other: builder.id('x') },
    );
    expect(answer.errors?.[0]?.message).toBe(`filter: this list holds only what belongs to ${run}; leave run out`);
  });

  test('an id is accepted in upper case, and an unknown id is null', async () => {
    expect(await data('query ($id: ID!) { run(id: $id) { name } }', { id: run.toUpperCase() })).toEqual({
      run: { name: 'first' },
    });
    const id = builder.id('unknown');
    expect(
      await data(
        'query ($id: ID!) { run(id: $id) { id } tree(id: $id) { id } step(id: $id) { id } rollout(id: $id) { id } experiment(id: $id) { id } }',
        { id },
      ),
    ).toEqual({ run: null, tree: null, step: null, rollout: null, experiment: null });
  });
});
