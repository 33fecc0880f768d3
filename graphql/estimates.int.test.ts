import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { catalogue } from '../src/events/catalogue.ts';
import type { Envelope } from '../src/events/envelope.ts';
import { readBatchesById } from '../src/projections/training-pool/read-batches.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { type RecordedBatches, recordBatches } from '../src/testing/record-batches.ts';
import { createEstimateBudget } from './loaders/budgets.ts';
import { createEstimateLoaders } from './loaders/estimate-loader.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
let recorded: RecordedBatches;
const POLICY = 'writer';
const [GROUPS, MEMBERS, STEPS] = [2, 4, 2];

beforeAll(async () => {
  api = await openTestGraphql();
  const builder = new EventBuilder('estimates');
  recorded = recordBatches(builder, { policyId: POLICY, groups: GROUPS, members: MEMBERS, steps: STEPS, observationTokens: 2 });
  const planned = builder.events.filter(({ type }) => catalogue[type].topic === 'trees').length;
  const events = builder.events.map(
    (event) =>
      (event.type === 'BatchPlanned' ? { ...event, data: { ...event.data, position: `trees.0:${planned}` } } : event) as Envelope,
  );
  await givenEvents(api.database.db, events);
});
afterAll(() => api.close());

/** GRPO as its paper has it (Shao et al. 2024): a return against those of its group, sample deviation. */
function grpo(returns: readonly number[]): readonly number[] {
  const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
  const deviation = Math.sqrt(returns.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (returns.length - 1));
  return returns.map((value) => (value - mean) / (deviation + 1e-6));
}

const SAMPLES = `samples { place return advantage staleness rewards { component value scorer { name revision } } rollout { id } group { id }
  steps { number reward tokenCount maskLength logProb staleness anchor value target advantage tokenAdvantages step { id depth } rewards { component value } } }`;

test('a batch shows what its estimator sees of every step, and the advantages that follow', async () => {
  const { data, errors } = await api.ask(
    `query ($id: ID!) { batch(id: $id) { estimates { estimator { name revision mode } grain reason agrees rewardsAt sampleCount ${SAMPLES} } } }`,
    { id: recorded.batchIds[0] },
  );
  expect(errors).toBeUndefined();
  const { samples, ...about } = data.batch.estimates;
  expect(about).toMatchObject({
    estimator: { name: 'grpo', revision: '1', mode: {} },
    grain: 'token',
    reason: null,
    agrees: null,
    sampleCount: 8,
    rewardsAt: expect.stringMatching(/^trees\.0:\d+$/),
  });
  const returns = [0.25, 0.75, 1.25, 1.75]; // member / 2 on the last step, 0.25 on the whole
  const advantages = grpo(returns);
  for (const [place, sample] of samples.entries()) {
    const member = place % MEMBERS;
    expect(sample).toMatchObject({
      place,
      return: returns[member],
      staleness: 0,
      rollout: { id: recorded.rollouts[0]?.[place] },
      rewards: [{ component: 'format', value: 0.25, scorer: { name: 'environment', revision: '1' } }],
    });
    expect(sample.advantage).toBeCloseTo(advantages[member] ?? Number.NaN, 12);
    expect(sample.group.id).toBe(samples[place - member].group.id);
    const [first, last] = sample.steps;
    expect(first).toMatchObject({
      number: 0,
      reward: 0,
      tokenCount: 5,
      maskLength: 3,
      logProb: -3,
      staleness: 0,
      value: null,
      rewards: [],
      step: { depth: 1 },
    });
    expect(last).toMatchObject({
      number: 1,
      reward: returns[member],
      tokenCount: 3,
      maskLength: 3,
      staleness: -1,
      step: { depth: 2 },
      anchor: '1'.padStart(64, '0'),
      rewards: [{ component: 'environment', value: member / 2 }],
      tokenAdvantages: null,
    });
    expect([first.advantage, last.advantage]).toEqual([sample.advantage, sample.advantage]);
  }
});

test('a step and a sample lead to the same numbers as their batch, and a page of it is a part of the whole', async () => {
  const rolloutId = recorded.rollouts[0]?.[3];
  const { data, errors } = await api.ask(
    `query ($rollout: ID!, $batch: ID!) {
      rollout(id: $rollout) { leaf { estimate { number advantage } parent { estimate { number advantage } } } sample { estimate { place advantage } } }
      batch(id: $batch) { estimates { samples(from: 3, first: 1) { place advantage } } } }`,
    { rollout: rolloutId, batch: recorded.batchIds[0] },
  );
  expect(errors).toBeUndefined();
  const [{ place, advantage }] = data.batch.estimates.samples;
  expect(place).toBe(3);
  expect(data.rollout).toEqual({
    leaf: { estimate: { number: 1, advantage }, parent: { estimate: { number: 0, advantage } } },
    sample: { estimate: { place, advantage } },
  });
});

test('a revised reward changes the present advantages and leaves those that the batch was planned with', async () => {
  const ask = async (rewards: string) => {
    const { data, errors } = await api.ask(
      `query ($id: ID!) { batch(id: $id) { estimates(rewards: ${rewards}) { rewardsAt samples(first: ${MEMBERS}) { return advantage } } } }`,
      { id: recorded.batchIds[0] },
    );
    expect(errors).toBeUndefined();
    return data.batch.estimates;
  };
  const before = await ask('now');
  const builder = new EventBuilder('revisions');
  const { data } = await api.ask('query ($id: ID!) { rollout(id: $id) { tree { id } leaf { rewards { id } } } }', {
    id: recorded.rollouts[0]?.[0],
  });
  const [reward] = data.rollout.leaf.rewards;
  const scorer = { name: 'judge', revision: '2' };
  const revised = { rewardId: reward.id, treeId: data.rollout.tree.id, value: 9, scorer, reason: 'seen again' };
  builder.record('RewardRevised', revised, recorded.runId);
  await givenEvents(api.database.db, builder.events);
  const [now, trained] = [await ask('now'), await ask('trained')];
  expect(now.samples.map((sample: { return: number }) => sample.return)).toEqual([9.25, 0.75, 1.25, 1.75]);
  expect(now.samples[0].advantage).toBeCloseTo(grpo([9.25, 0.75, 1.25, 1.75])[0] ?? Number.NaN, 12);
  expect(trained).toEqual(before);
});

test('a batch read as of a moment is estimated with the rewards of that moment', async () => {
  const { data: was } = await api.ask('query ($id: ID!) { batch(id: $id) { position } }', { id: recorded.batchIds[0] });
  const fields = `rewardsAt samples(first: ${MEMBERS}) { return advantage }`;
  const { data, errors } = await api.ask(
    `query ($id: ID!, $at: String!) { asOf(position: $at) { batch(id: $id) { estimates { ${fields} } trained: estimates(rewards: trained) { ${fields} } } } }`,
    { id: recorded.batchIds[0], at: `${was.batch.position},runs.0:1,training.0:1` },
  );
  expect(errors).toBeUndefined();
  const { estimates, trained } = data.asOf.batch;
  expect(estimates.samples.map((sample: { return: number }) => sample.return)).toEqual([0.25, 0.75, 1.25, 1.75]);
  expect(estimates.rewardsAt).toBe(was.batch.position);
  expect(trained.samples).toEqual(estimates.samples);
});

test('a batch shows a histogram of staleness and the versions that acted in it; a version shows the batches it acted in', async () => {
  const { data, errors } = await api.ask(
    `query ($id: ID!) { batch(id: $id) { staleness { staleness samples } actors { policy { id version } samples steps tokens }
      samples(first: 1) { actors { id version } } } }`,
    { id: recorded.batchIds[0] },
  );
  expect(errors).toBeUndefined();
  const samples = GROUPS * MEMBERS;
  expect(data.batch).toEqual({
    staleness: [{ staleness: 0, samples }],
    actors: [1, 0].map((version) => ({ policy: { id: POLICY, version }, samples, steps: samples, tokens: 3 * samples })),
    samples: [{ actors: [1, 0].map((version) => ({ id: POLICY, version })) }],
  });
});

test('one request estimates a bounded number of samples, however few of them it shows', async () => {
  const { db } = api.database;
  const { estimates, estimatesOfGroup } = createEstimateLoaders({
    db,
    blobs: api.blobs,
    budget: createEstimateBudget({ samples: 10, tokens: 1_000 }),
    batchOf: async (id) => (await readBatchesById(db, [id]))[0] ?? null,
  });
  const batchId = recorded.batchIds[0] ?? '';
  const { samples } = (await estimates.load({ batchId, rewards: 'now' })).batch;
  expect(samples).toHaveLength(8);
  const trees = [...new Set(samples.map(({ treeId }) => treeId))];
  expect(trees).toHaveLength(GROUPS);
  for (const treeId of trees)
    expect((await estimatesOfGroup.load({ batchId, treeId, rewards: 'now' })).ofRollout.size).toBeGreaterThan(0);
  const refused = { message: expect.stringContaining('more than 10 samples'), extensions: { code: 'LIMIT_EXCEEDED' } };
  await expect(estimates.load({ batchId, rewards: 'trained' })).rejects.toMatchObject(refused);
  const [treeId = ''] = trees;
  await expect(estimatesOfGroup.load({ batchId, treeId, rewards: 'trained' })).rejects.toMatchObject(refused);
});

test('512 samples with their steps and rewards stay within the cost limit and take only a few statements more than eight', async () => {
  const builder = new EventBuilder('large');
  const large = recordBatches(builder, { policyId: 'large', groups: 64, members: 8, steps: STEPS });
  await givenEvents(api.database.db, builder.events);
  const page = SAMPLES.replace('samples {', 'samples(first: 500) {').replace('tokenAdvantages', '');
  const ask = async (id: string | undefined) => {
    api.statements();
    const { data, errors } = await api.ask(`query ($id: ID!) { batch(id: $id) { estimates { sampleCount ${page} } } }`, { id });
    expect(errors).toBeUndefined();
    return { ...data.batch.estimates, statements: api.statements().length };
  };
  const [few, many] = [await ask(recorded.batchIds[0]), await ask(large.batchIds[0])];
  expect([few.sampleCount, many.sampleCount, many.samples.length]).toEqual([8, 512, 500]);
  expect(many.statements - few.statements).toBeLessThanOrEqual(8);
  const returns = Array.from({ length: 8 }, (_, member) => member / 2 + 0.25);
  const advantages = grpo(returns);
  for (const { place, advantage } of many.samples) expect(advantage).toBeCloseTo(advantages[place % 8] ?? Number.NaN, 12);
});

test('the steps of a whole tree are estimated together with their batch', async () => {
  const ask = async (fields: string) => {
    api.statements();
    const { data, errors } = await api.ask(`query ($id: ID!) { rollout(id: $id) { tree { steps { depth ${fields} } } } }`, {
      id: recorded.rollouts[0]?.[0],
    });
    expect(errors).toBeUndefined();
    return { steps: data.rollout.tree.steps, statements: api.statements().length };
  };
  const [plain, estimated] = [await ask(''), await ask('estimate { advantage }')];
  expect(estimated.steps).toHaveLength(1 + MEMBERS * STEPS);
  for (const { depth, estimate } of estimated.steps) expect(estimate === null).toBe(depth === 0);
  expect(estimated.statements - plain.statements).toBeLessThanOrEqual(12);
});

test('a batch that is incomplete in the read models is not estimated, and the answer names what is missing', async () => {
  const builder = new EventBuilder('early');
  const { batchIds } = recordBatches(builder, { policyId: 'early', groups: 1 });
  await givenEvents(
    api.database.db,
    builder.events.filter(({ type }) => type === 'BatchPlanned'),
  );
  const { errors } = await api.ask('query ($id: ID!) { batch(id: $id) { estimates { reason } } }', { id: batchIds[0] });
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('is not finished in the read models'),
      extensions: { code: 'UNAVAILABLE' },
    }),
  ]);
});
