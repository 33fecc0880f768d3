import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { derivedId } from '../src/events/derived-id.ts';
import { localPrincipal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import {
  type RecordedGroup,
  recordBatch,
  recordGroup,
  recordLineage,
  recordVersion,
  TEST_RULES,
} from '../src/testing/record-training.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const POLICY = 'linear:shown';
const lineageId = derivedId('lineage', POLICY);
const batchId = derivedId('batch', lineageId, 0);
const builder = new EventBuilder('graphql training');
let taken: RecordedGroup;
let refused: RecordedGroup;

beforeAll(async () => {
  api = await openTestGraphql();
  recordLineage(builder, POLICY);
  const loss = { name: 'gspo', options: { clipLow: 0.1 } };
  const estimator = { name: 'grpo', options: {} };
  const settings = { objective: { kind: 'policy-gradient', estimator, loss }, learningRate: 1e-6 };
  const declared = builder.events.find(({ type }) => type === 'TrainingDeclared');
  Object.assign(declared?.data ?? {}, { trainer: { backend: 'example', preset: 'agent-r1-grpo', settings } });
  const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
  taken = recordGroup(builder, runId, 'taken', { policyId: POLICY, rewards: [0, 1] });
  refused = recordGroup(builder, runId, 'refused', { policyId: POLICY, rewards: [1] });
  recordGroup(builder, runId, 'ready', { policyId: POLICY, rewards: [1, 0, 1] });
  recordBatch(builder, POLICY, [{ ...taken, rolloutIds: taken.rolloutIds.toReversed() }]);
  const lineage = { lineageId, policyId: POLICY };
  const rejected = { reason: 'singleton' as const, rule: 'two are compared', measured: 1 };
  const [rolloutId = ''] = refused.rolloutIds;
  builder.record('SampleRejected', { ...lineage, groupId: refused.treeId, rolloutId, ...rejected }, lineageId);
  const lease = { ...lineage, batchId, leaseId: builder.id('lease', 1), fence: 1 };
  builder.record('BatchLeased', { ...lease, consumer: 'a', deadline: '2026-01-01T00:05:00.000Z' }, lineageId);
  builder.record('BatchReturned', { ...lease, reason: 'out of memory' }, lineageId);
  const second = { ...lease, leaseId: builder.id('lease', 2), fence: 2 };
  builder.record('BatchLeased', { ...second, consumer: 'b', deadline: '2026-01-01T00:09:00.000Z' }, lineageId);
  builder.record('BatchAcked', { ...second, version: 1, checkpointId: builder.id('checkpoint', POLICY, 1) }, lineageId);
  recordVersion(builder, POLICY, 1, batchId);
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

test('a policy shows its account, whose lines add up', async () => {
  const { data, errors } = await api.ask(`{ policies { id seed estimator { name } newest { version }
    ledger { produced trained rejected { reason samples } owed { group ready planned leased } difference running }
    staleness { staleness samples } } policy(id: "nobody") { id } }`);
  expect(errors).toBeUndefined();
  expect(data.policy).toBeNull();
  expect(data.policies).toEqual([
    {
      id: POLICY,
      seed: 7,
      estimator: { name: 'grpo' },
      newest: { version: 1 },
      ledger: {
        produced: 6,
        trained: 2,
        rejected: [{ reason: 'singleton', samples: 1 }],
        difference: 0,
        running: 0,
        owed: { group: 0, ready: 3, planned: 0, leased: 0 },
      },
      staleness: [{ staleness: 0, samples: 2 }],
    },
  ]);
});

test('a policy shows how it was declared, and what its next batch waits for', async () => {
  const { data, errors } = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) {
    declaration { backend preset estimator { name options } loss { name options } optimiser prompt rules seed source }
    waiting { for next openGroups closedGroups readyGroups rejectedGroups { reason groups } } } }`);
  expect(errors).toBeUndefined();
  const rules = { ...TEST_RULES };
  expect(data.policy).toEqual({
    declaration: {
      backend: 'example',
      preset: 'agent-r1-grpo',
      estimator: { name: 'grpo', options: {} },
      prompt: null,
      rules,
      seed: 7,
      loss: { name: 'gspo', options: { clipLow: 0.1 } },
      optimiser: { learningRate: 1e-6 },
      source: {
        backend: 'example',
        preset: 'agent-r1-grpo',
        estimator: { name: 'grpo', options: {} },
        rules,
        seed: 7,
        loss: { name: 'gspo', options: { clipLow: 0.1 } },
        optimiser: { learningRate: 1e-6 },
      },
    },
    waiting: {
      // those of the third group are too old for the next batch, and no planner has said so yet
      for: 'planner',
      next: '3 samples can be judged, and no planner did yet: `espalier up` runs one, or `espalier serve batch`',
      openGroups: 0,
      closedGroups: 3,
      readyGroups: 0,
      rejectedGroups: [{ reason: 'singleton', groups: 1 }],
    },
  });
});

test('the lineage of a version leads to its batch, its rollouts, and the version that acted in them', async () => {
  const { data, errors } = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) {
    versions(first: 1) { totalCount nodes { version parent { version batch { id } }
      batch { ordinal state base { version } update { version } leases { fence consumer endedBy endReason }
        samples { place state staleness scores rollout { id sample { state batch { id } } policy { version update { version } } } } } } }
    batches(state: trained) { nodes { id groupCount sampleCount shards } }
    waiting: batches(state: planned) { totalCount } } }`);
  expect(errors).toBeUndefined();
  const [first, second] = [...taken.rolloutIds].reverse();
  const acted = { state: 'trained', batch: { id: batchId } };
  const base = { version: 0, update: { version: 0 } };
  expect(data.policy).toEqual({
    versions: {
      totalCount: 2,
      nodes: [
        {
          version: 1,
          parent: { version: 0, batch: null },
          batch: {
            ordinal: 0,
            state: 'trained',
            base: { version: 0 },
            update: { version: 1 },
            leases: [
              { fence: 1, consumer: 'a', endedBy: 'returned', endReason: 'out of memory' },
              { fence: 2, consumer: 'b', endedBy: 'acked', endReason: null },
            ],
            samples: [
              {
                place: 0,
                state: 'trained',
                staleness: 0,
                scores: { environment: 1 },
                rollout: { id: first, sample: acted, policy: base },
              },
              {
                place: 1,
                state: 'trained',
                staleness: 0,
                scores: { environment: 0 },
                rollout: { id: second, sample: acted, policy: base },
              },
            ],
          },
        },
      ],
    },
    batches: { nodes: [{ id: batchId, groupCount: 1, sampleCount: 2, shards: [[0, 1]] }] },
    waiting: { totalCount: 0 },
  });
});

test('a page of a batch begins at its place, and a rejected rollout names the rule that rejected it', async () => {
  const { data, errors } = await api.ask(
    `query ($batch: ID!, $rollout: ID!) { batch(id: $batch) { samples(from: 1, first: 5) { place } }
      rollout(id: $rollout) { sample { state reason rule measured batch { id } } } }`,
    { batch: batchId, rollout: refused.rolloutIds[0] },
  );
  expect(errors).toBeUndefined();
  expect(data.batch.samples).toEqual([{ place: 1 }]);
  expect(data.rollout.sample).toEqual({
    state: 'rejected',
    reason: 'singleton',
    rule: 'two are compared',
    measured: 1,
    batch: null,
  });
});

test('a version links to the batches it acted in, and a batch to the versions that acted in it', async () => {
  const { data, errors } = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) { versions { nodes { version
    actedIn { ordinal update { version } staleness { staleness samples } actors { policy { version update { version } } samples steps tokens } } } } } }`);
  expect(errors).toBeUndefined();
  const actors = [{ policy: { version: 0, update: { version: 0 } }, samples: 2, steps: 2, tokens: 3 + 4 }];
  const batch = { ordinal: 0, update: { version: 1 }, staleness: [{ staleness: 0, samples: 2 }], actors };
  expect(data.policy.versions.nodes).toEqual([
    { version: 1, actedIn: [] },
    { version: 0, actedIn: [batch] },
  ]);
});

test('the samples of many batches take few statements', async () => {
  api.statements();
  await api.ask(
    `{ policies { versions { nodes { batch { samples { rollout { id } tree { id } } leases { id } update { version } } } } } }`,
  );
  expect(api.statements().length).toBeLessThanOrEqual(9);
});

test.each([
  ['{ state: trained }', 2],
  ['{ state: rejected }', 1],
  ['{ state: ready }', 3],
  ['{ state: planned }', 0],
  ['{ reason: "singleton" }', 1],
  ['{ reason: "stale" }', 0],
  [`{ policy: ${JSON.stringify(POLICY)}, version: 0 }`, 6],
  ['{ version: 1 }', 0],
  ['{ text: { words: "WORD" } }', 6],
  ['{ text: { words: "WORD", in: [thought] }, state: ready }', 0],
  ['{ text: { words: "WORD", in: [action] }, state: ready }', 3],
  ['{ text: { words: "WORD" }, tree: "TAKEN" }', 2],
  ['{ text: { words: "nowhere" } }', 0],
])('the filter %s finds %i samples, and they are counted', async (filter, count) => {
  const words = filter.replace('WORD', 'inventory').replace('TAKEN', taken.treeId);
  const asked = `{ samples(filter: ${words}) { totalCount count(upTo: 2) { count complete } nodes { rollout { id } } } }`;
  const { data, errors } = await api.ask(asked);
  expect(errors).toBeUndefined();
  expect({ total: data.samples.totalCount, nodes: data.samples.nodes.length }).toEqual({ total: count, nodes: count });
  expect(data.samples.count).toEqual({ count: Math.min(count, 2), complete: count <= 2 });
});

const SEARCHED = `query ($run: ID!, $words: String!, $after: String) {
  samples(filter: { run: $run, text: { words: $words } }, first: 2, after: $after) { nodes { rollout { id } } pageInfo { endCursor hasNextPage } } }`;

test('samples of a run that are searched follow page by page, each once, and none is shown to a key of another project', async () => {
  const run = builder.id('run', 'collect');
  const seen: string[] = [];
  for (let after: string | null = null, more = true; more; ) {
    const { data, errors } = await api.ask(SEARCHED, { run, words: 'inventory', after });
    expect(errors).toBeUndefined();
    seen.push(...data.samples.nodes.map(({ rollout }: { rollout: { id: string } }) => rollout.id));
    after = data.samples.pageInfo.endCursor;
    more = data.samples.pageInfo.hasNextPage;
  }
  expect([seen.length, new Set(seen).size]).toEqual([6, 6]);
  const confined = await api.create(
    {},
    { ...localPrincipal('elsewhere'), principal: 'key:k', keyId: 'k', name: 'k', scopes: ['read'], projects: ['elsewhere'] },
  );
  const { data, errors } = await confined.ask(SEARCHED, { run, words: 'inventory' });
  expect(errors).toBeUndefined();
  expect(data.samples).toEqual({ nodes: [], pageInfo: { endCursor: null, hasNextPage: false } });
});

test('samples of a tree that are searched are those of the moment that is asked for', async () => {
  const { data: was } = await api.ask(`{ batch(id: "${batchId}") { position } }`);
  const ask = `query ($position: String) { asOf(position: $position) { samples(filter: { tree: "${taken.treeId}", text: { words: "inventory" } }) { nodes { rollout { id } } } } }`;
  const { data, errors } = await api.ask(ask, { position: `${was.batch.position},runs.0:1` });
  expect(errors).toBeUndefined();
  expect(data.asOf.samples.nodes).toHaveLength(2);
  const before = await api.ask(ask, { position: 'trees.0:1,runs.0:1' });
  expect(before.data.asOf.samples.nodes).toEqual([]);
});

test('steps are chosen by what became of their rollouts as samples, and why', async () => {
  const { data, errors } = await api.ask(`{ rejected: steps(filter: { sampleState: rejected }) { totalCount }
    trained: steps(filter: { sampleState: trained }) { totalCount } singleton: steps(filter: { sampleReason: "singleton" }) { totalCount }
    stale: steps(filter: { sampleReason: "stale" }) { totalCount } }`);
  expect(errors).toBeUndefined();
  const counts = { rejected: 1, trained: 2, singleton: 1, stale: 0 };
  expect(data).toEqual(Object.fromEntries(Object.entries(counts).map(([name, totalCount]) => [name, { totalCount }])));
});

test('samples are counted by task, length and version with those that were rejected, the parts adding up to the ledger', async () => {
  const fields = 'task { alias } tree { id } length { from to } version produced discarded groups reasons { reason samples }';
  const { data, errors } = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) {
    task: discarded(by: TASK) { ${fields} } one: discarded(by: TASK, first: 1) { produced }
    length: discarded(by: LENGTH) { ${fields} } version: discarded(by: VERSION) { ${fields} } } }`);
  expect(errors).toBeUndefined();
  const reasons = [{ reason: 'singleton', samples: 1 }];
  const { task, one, length, version } = data.policy;
  const none = { task: null, length: null, version: null };
  expect(task[0]).toEqual({
    ...none,
    task: { alias: expect.any(String) },
    tree: { id: refused.treeId },
    produced: 1,
    discarded: 1,
    groups: 1,
    reasons,
  });
  expect(task.map(({ produced, discarded }: { produced: number; discarded: number }) => [produced, discarded])).toEqual(
    expect.arrayContaining([
      [1, 1],
      [2, 0],
      [3, 0],
    ]),
  );
  expect(one).toEqual([{ produced: 1 }]);
  const all = { produced: 6, discarded: 1, groups: 3, reasons, tree: { id: expect.any(String) } };
  expect(length).toEqual([{ ...none, ...all, length: { from: 1, to: 2 } }]);
  expect(version).toEqual([{ ...none, ...all, version: 0 }]);
  const unknown = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) { discarded(by: TASK, first: 501) { produced } } }`);
  expect(unknown.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } });
});

test('a version shows what the samples of its batch amount to, and a beginning has no batch', async () => {
  const { data, errors } = await api.ask(`{ policy(id: ${JSON.stringify(POLICY)}) { versions { nodes { version
    outcome { successRate meanReturn staleness sampledTokens trainedMs tokensPerSecond } } } } }`);
  expect(errors).toBeUndefined();
  const [first, beginning] = data.policy.versions.nodes;
  expect(beginning).toEqual({ version: 0, outcome: null });
  const { trainedMs, tokensPerSecond, ...rest } = first.outcome;
  expect(rest).toEqual({ successRate: expect.any(Number), meanReturn: 0.5, staleness: 0, sampledTokens: 7 });
  if (trainedMs > 0) expect(tokensPerSecond).toBeCloseTo(7_000 / trainedMs, 9);
  else expect(tokensPerSecond).toBeNull();
});
