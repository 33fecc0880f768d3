import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { recordLineage } from '../src/testing/record-training.ts';
import { traceRecord } from '../src/usecases/lineage/trace-record.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const POLICY = 'linear:replayed';
const builder = new EventBuilder('graphql forks');
let origin: { readonly runId: string; readonly treeId: string; readonly rootStepId: string };
let fork: string;
let other: string;
const NOWHERE = '00000000-0000-4000-8000-000000000000';

beforeAll(async () => {
  api = await openTestGraphql();
  recordLineage(builder, POLICY);
  origin = builder.tree(builder.run('origin'));
  const { runId, treeId, rootStepId: stepId } = origin;
  fork = builder.run('fork', { kind: 'fork', config: { fork: { runId, treeId, stepId } } });
  other = builder.run('fork of nothing that is here', {
    kind: 'fork',
    config: { fork: { runId: NOWHERE, treeId: NOWHERE, stepId: NOWHERE } },
  });
  const found = {
    outcome: 'equal' as const,
    compared: 3,
    differing: 0,
    differences: [],
    notes: [],
    codeVersion: 'test',
    seconds: 1,
  };
  const training = { mode: 'training' as const, parameters: { policyId: POLICY, from: 0, to: null } };
  builder.record('ReplayFinished', { runId, replayId: builder.id('replay', 1), ...found, ...training }, runId);
  const forked = { mode: 'fork' as const, parameters: { run: fork, from: stepId } };
  builder.record('ReplayFinished', { runId, replayId: builder.id('replay', 2), ...found, ...forked }, runId);
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

test('a fork shows the step it continues from, and the step and its run show the fork', async () => {
  const { data, errors } = await api.ask(
    `query ($run: ID!, $fork: ID!, $other: ID!, $step: ID!) {
      run(id: $run) { forkOf { run { id } } forks { id kind } replays { mode outcome } }
      fork: run(id: $fork) { forkOf { run { id } tree { id } step { id depth } } forks { id } }
      other: run(id: $other) { forkOf { run { id } tree { id } step { id } } }
      step(id: $step) { forks { id forkOf { step { id } } } } }`,
    { run: origin.runId, fork, other, step: origin.rootStepId },
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    run: {
      forkOf: null,
      forks: [{ id: fork, kind: 'fork' }],
      replays: [
        { mode: 'training', outcome: 'equal' },
        { mode: 'fork', outcome: 'equal' },
      ],
    },
    fork: {
      forks: [],
      forkOf: { run: { id: origin.runId }, tree: { id: origin.treeId }, step: { id: origin.rootStepId, depth: 0 } },
    },
    other: { forkOf: { run: null, tree: null, step: null } },
    step: { forks: [{ id: fork, forkOf: { step: { id: origin.rootStepId } } }] },
  });
});

test('a policy shows the result of replaying its training', async () => {
  const { data, errors } = await api.ask('query ($policy: String!) { policy(id: $policy) { replays { id mode compared } } }', {
    policy: POLICY,
  });
  expect(errors).toBeUndefined();
  expect(data.policy.replays).toEqual([{ id: builder.id('replay', 1), mode: 'training', compared: 3 }]);
});

test('a trace leads from the fork to the step, and from the step and the run to the fork', async () => {
  const { db } = api.database;
  const linked = async (id: string, side: 'from' | 'usedBy', relation: string) =>
    (await traceRecord(db, id))[side].find((link) => link.relation === relation)?.first.map((each) => each.id);
  expect(await linked(fork, 'from', 'step that it goes on from')).toEqual([origin.rootStepId]);
  expect(await linked(origin.rootStepId, 'usedBy', 'forks')).toEqual([fork]);
  expect(await linked(origin.runId, 'usedBy', 'forks')).toEqual([fork]);
});
