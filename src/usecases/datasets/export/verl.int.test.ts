import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { sha256Hex } from '../../../digest/sha256.ts';
import { pack } from '../../../events/packed.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { parquetWorkshop } from '../../../testing/parquet-workshop.ts';
import type { DatasetError } from '../dataset-error.ts';

const shop = parquetWorkshop();

const span = (from: number, to: number, version: number) => ({ from, to, policyId: 'model', version });

/** A walk of two steps with every token recorded, and a second rollout that goes on from its first step. */
function builder(): {
  readonly recorded: EventBuilder;
  readonly ids: Readonly<Record<'tree' | 'one' | 'two', string>> & { readonly steps: readonly string[] };
} {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const tree = recorded.tree(runId, 'bread');
  const policy = { policyId: 'model', version: 3 };
  const one = recorded.rollout(tree, 0, { policy });
  const first = recorded.step(tree, one, tree.rootStepId, 1, {
    response: 'look',
    observation: 'a shelf',
    policySpans: [span(0, 2, 3)],
    tokens: {
      ids: pack('int32', [11, 12, 900, 901]),
      logProbs: pack('float32', [-0.5, -0.25, -9, -9]), // what a server says of tokens that it was shown counts for nothing
      mask: pack('uint8', [1, 1, 0, 0]),
    },
    stateHash: 'a'.repeat(64),
  });
  const left = recorded.step(tree, one, first, 2, {
    response: 'take',
    observation: 'taken',
    termination: 'terminated',
    policySpans: [span(0, 1, 3), span(1, 3, 4)],
    tokens: { ids: pack('int32', [21, 22, 23]), logProbs: pack('float32', [-1, -2, -4]), mask: null },
  });
  recorded.reward(tree, first, 0.25, { component: 'format' });
  recorded.reward(tree, left, 1);
  recorded.reward(tree, null, -0.5, { rolloutId: one, component: 'length' });
  recorded.finishRollout(tree, one, left, { steps: 2 });
  const two = recorded.rollout(tree, 1, { fromStepId: first, policy });
  const right = recorded.step(tree, two, first, 2, {
    response: 'leave',
    executable: false,
    policySpans: [span(0, 1, 4)],
    tokens: { ids: pack('int32', [31]), logProbs: null, mask: null },
  });
  recorded.finishRollout(tree, two, right, { steps: 1, outcome: 'truncated', success: false });
  recorded.closeTree(tree, 2);
  return { recorded, ids: { tree: tree.treeId, one, two, steps: [first, left, right] } };
}

describe('a row per trajectory', () => {
  test('a row contains every token as sampled, its step, its score and the version that sampled it', async () => {
    const { recorded, ids } = builder();
    await givenEvents(shop.db, recorded.events);
    const [one] = await shop.rows({ kind: 'verl', layout: 'trajectory' });
    expect(one).toEqual({
      uid: ids.tree,
      traj_uid: ids.one,
      cut_index: 0,
      cuts: 0,
      first_step: 0,
      step_ids: ids.steps.slice(0, 2),
      tokenised: 'recorded',
      prompts: null,
      data_source: 'textcraft',
      prompt_source: 'composed',
      step_ends: [1, 6],
      raw_prompt: [
        { role: 'system', content: 'Craft what is asked.' },
        { role: 'user', content: 'Goal: craft bread.' },
      ],
      responses: [11, 12, 900, 901, 21, 22, 23],
      response_mask: [1, 1, 0, 0, 1, 1, 1],
      rollout_log_probs: [-0.5, -0.25, 0, 0, -1, -2, -4],
      step_indices: [0, 0, 0, 0, 1, 1, 1],
      token_level_scores: [0, 0.25, 0, 0, 0, 0, 0.5], // the step's on its last sampled token; the rollout's on the last of all
      rewards: [
        { component: 'environment', value: 1 },
        { component: 'format', value: 0.25 },
        { component: 'length', value: -0.5 },
      ],
      episode_rewards: 0.75,
      episode_lengths: 2,
      __num_turns__: 2,
      outcome: 'terminated',
      success: true,
      policy_id: 'model',
      param_version_start: 3,
      param_version_end: 4,
      policy_spans: [
        { from: 0, to: 2, policy_id: 'model', version: 3 },
        { from: 4, to: 5, policy_id: 'model', version: 3 },
        { from: 5, to: 7, policy_id: 'model', version: 4 },
      ],
      extra_info: {
        split: null,
        index: 0,
        run_id: recorded.id('run', 'run'),
        task_id: recorded.id('task', 'bread'),
        task_alias: 'bread',
        goal: 'craft bread',
        seed: '0',
        labels: '',
      },
    });
  });

  test('a branching rollout has the earlier steps in its prompt, and trains on its own alone', async () => {
    const { recorded, ids } = builder();
    await givenEvents(shop.db, recorded.events);
    const [, two] = await shop.rows({ kind: 'verl', layout: 'trajectory' });
    expect(two).toMatchObject({
      traj_uid: ids.two,
      uid: ids.tree,
      responses: [31],
      rollout_log_probs: null, // the server gave none: no zeros in their place
      step_indices: [0],
      token_level_scores: [0],
      episode_rewards: 0.25,
      episode_lengths: 2,
      __num_turns__: 1,
      outcome: 'truncated',
    });
    expect(two?.raw_prompt).toEqual([
      { role: 'system', content: 'Craft what is asked.' },
      { role: 'user', content: 'Goal: craft bread.' },
      { role: 'assistant', content: 'look' },
      { role: 'user', content: 'a shelf' },
    ]);
  });

  test.each([
    ['no token ids', null, 'has no token ids'],
    ['ids of what was sampled alone', pack('int32', [1, 2]), 'but not of the observation that followed it'],
  ])('trajectories with %s are refused with the remedy, and no file is left', async (_, ids, said) => {
    const recorded = new EventBuilder();
    const tree = recorded.tree(recorded.run());
    const rollout = recorded.rollout(tree);
    const tokens = ids && { ids, logProbs: null, mask: null };
    const first = recorded.step(tree, rollout, tree.rootStepId, 1, { tokens });
    const last = recorded.step(tree, rollout, first, 2, { tokens });
    recorded.reward(tree, last, 1, { rolloutId: rollout });
    recorded.finishRollout(tree, rollout, last, { steps: 2 });
    await givenEvents(shop.db, recorded.events);
    const refused = await shop.exported({ kind: 'verl', layout: 'trajectory' }).then(
      () => null,
      (error: DatasetError) => error,
    );
    expect(refused?.code).toBe('missing-tokens');
    expect(refused?.message).toContain(`trajectory ${rollout}`);
    expect(refused?.message).toContain(said);
    expect(refused?.message).toContain('--layout step');
    expect(await readdir(shop.folder)).toEqual([]);
  });
});
describe('a row per step', () => {
  test('a step appears once, in the trajectory that took it, with the preceding chat', async () => {
    const { recorded, ids } = builder();
    await givenEvents(shop.db, recorded.events);
    const all = await shop.rows({ kind: 'verl', layout: 'step' });
    expect(all.map((row) => [row.traj_uid, row.step_indices, row.response_text, row.step_reward])).toEqual([
      [ids.one, 0, 'look', 0.25],
      [ids.one, 1, 'take', 1],
      [ids.two, 0, 'leave', 0],
    ]);
    expect(all[1]).toMatchObject({
      uid: ids.tree,
      responses: [21, 22, 23],
      response_mask: [1, 1, 1],
      rollout_log_probs: [-1, -2, -4],
      rewards: [{ component: 'environment', value: 1 }],
      trajectory_rewards: [{ component: 'length', value: -0.5 }],
      episode_rewards: 0.75,
      episode_lengths: 2,
      anchor_obs: 'a'.repeat(64), // the state that the step before led to
      is_action_valid: true,
      termination: 'terminated',
      param_version_start: 3,
      param_version_end: 4,
    });
    expect(all[2]).toMatchObject({ is_action_valid: false, outcome: 'truncated', anchor_obs: 'a'.repeat(64) });
    expect(all[1]?.raw_prompt).toHaveLength(4);
  });

  test('a step without tokens is exported without them', async () => {
    const recorded = new EventBuilder();
    recorded.walk(recorded.tree(recorded.run()), 0, 2, 1);
    await givenEvents(shop.db, recorded.events);
    const all = await shop.rows({ kind: 'verl', layout: 'step' });
    expect(all).toHaveLength(2);
    expect(all[0]).toMatchObject({ responses: null, response_mask: null, rollout_log_probs: null });
  });
});

test('prompts for verl hold a task once for each ground truth and instruction that it has', async () => {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const observation = 'Goal: craft bread.';
  const task = (goal: string) => ({
    taskId: recorded.id('task', 'bread'),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash: sha256Hex(observation),
    alias: 'bread',
    goal,
    depth: null,
    split: null,
  });
  const asked = [
    ['one', 'Be brief.'],
    ['two', 'Be brief.'],
    ['one', 'Be brief.'],
    ['one', 'Be kind.'],
  ] as const;
  for (const [i, [goal, instruction]] of asked.entries())
    recorded.walk(recorded.tree(runId, `tree ${i}`, { task: task(goal), observation, instruction }), 0, 1, 1);
  await givenEvents(shop.db, recorded.events);
  const rows = await shop.rows({ kind: 'verl-prompts', truths: null });
  const expected = [asked[0], asked[1], asked[3]].map(([goal, instruction]) => [
    [
      { role: 'system', content: instruction },
      { role: 'user', content: observation },
    ],
    { style: 'rule', ground_truth: goal },
  ]);
  const texts = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).sort(); // trees are ordered by their ids
  expect(texts(rows.map(({ prompt, reward_model: truth }) => [prompt, truth]))).toEqual(texts(expected));
  expect(rows.map(({ extra_info: info }) => (info as { readonly index: string }).index)).toEqual(['0', '1', '2']);
});

test('a task whose goal is its question has no ground truth, and one that begins like its question has one', async () => {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const walk = (name: string, goal: string, observation: string) => {
    const known = {
      taskId: recorded.id('task', name),
      environment: 'textcraft',
      serverFingerprint: 'world-1',
      depth: null,
      split: null,
    };
    const task = { ...known, observationHash: sha256Hex(observation), alias: name, goal };
    recorded.walk(recorded.tree(runId, name, { task, observation }), 0, 1, 1);
  };
  walk('answered', '4', '4 or 5?');
  await givenEvents(shop.db, recorded.events);
  const [row] = await shop.rows({ kind: 'verl-prompts', truths: null });
  expect(row?.reward_model).toEqual({ style: 'rule', ground_truth: '4' });

  const before = recorded.events.length;
  walk('asked', '2 + 2?', '2 + 2?');
  await givenEvents(shop.db, recorded.events.slice(before));
  await expect(
    shop.rows({ kind: 'verl-prompts', truths: null }, undefined, await mkdtemp(join(shop.folder, 'asked-'))),
  ).rejects.toMatchObject({
    code: 'invalid-query',
    message: expect.stringContaining('task asked'),
  });
});

test('prompts for verl have the arguments of tools as its tools take them, null where a task names a tool otherwise', async () => {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const given = [
    { judge: { create_kwargs: { ground_truth: '4', tries: 3 } }, calculator: { create_kwargs: {} } },
    { judge: { create_kwargs: { ground_truth: '5', weight: 0.5, cases: [1, 2] } }, search: { create_kwargs: { strict: true } } },
  ];
  const walk = (name: string, toolsKwargs: string) => {
    const task = {
      taskId: recorded.id('task', name),
      environment: 'textcraft',
      serverFingerprint: 'world-1',
      observationHash: sha256Hex(name),
      alias: name,
      goal: name,
      depth: null,
      split: null,
      toolsKwargs,
    };
    recorded.walk(recorded.tree(runId, name, { task }), 0, 1, 1);
  };
  recorded.walk(recorded.tree(runId, 'none'), 0, 1, 1);
  for (const [i, kwargs] of given.entries()) walk(`task ${i}`, JSON.stringify(kwargs));
  await givenEvents(shop.db, recorded.events);
  const rows = await shop.rows({ kind: 'verl-prompts', truths: null });
  const kwargs = (judge: object, strict: boolean | null) => ({
    judge: { create_kwargs: { ground_truth: null, tries: null, weight: null, cases: null, ...judge } },
    search: { create_kwargs: { strict } },
  });
  const info = rows.map(({ extra_info }) => extra_info as Record<string, unknown>);
  expect(info.map(({ task_alias, need_tools_kwargs, tools_kwargs }) => [task_alias, need_tools_kwargs, tools_kwargs])).toEqual([
    ['none', false, kwargs({}, null)],
    ['task 0', true, kwargs({ ground_truth: '4', tries: '3' }, null)],
    ['task 1', true, kwargs({ ground_truth: '5', weight: 0.5, cases: ['1', '2'] }, true)],
  ]);

  walk('other', '{"judge":{"create_kwargs":{"ground_truth":4}}}');
  await givenEvents(shop.db, recorded.events.slice(-5));
  const into = await mkdtemp(join(shop.folder, 'other-'));
  await expect(shop.rows({ kind: 'verl-prompts', truths: null }, undefined, into)).rejects.toMatchObject({
    code: 'invalid-query',
    message: expect.stringContaining('tools_kwargs.judge.create_kwargs.ground_truth is a'),
  });
});

test('a TRL row is a scored completion of a trajectory, in the group that it is compared in', async () => {
  const { recorded, ids } = builder();
  await givenEvents(shop.db, recorded.events);
  await shop.exported({ kind: 'trl-grpo', metadata: 'omit' });
  const lines = (await readFile(shop.out(), 'utf8')).trimEnd().split('\n');
  const opening = [
    { role: 'system', content: 'Craft what is asked.' },
    { role: 'user', content: 'Goal: craft bread.' },
  ];
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      prompt: opening,
      completion: [
        { role: 'assistant', content: 'look' },
        { role: 'user', content: 'a shelf' },
        { role: 'assistant', content: 'take' },
      ],
      reward: 0.75,
      rewards: [
        { component: 'environment', value: 1 },
        { component: 'format', value: 0.25 },
        { component: 'length', value: -0.5 },
      ],
      group: ids.tree,
      trajectory: ids.one,
      part: { index: 0, of: 1 },
    },
    {
      prompt: [...opening, { role: 'assistant', content: 'look' }, { role: 'user', content: 'a shelf' }],
      completion: [{ role: 'assistant', content: 'leave' }],
      reward: 0.25,
      rewards: [{ component: 'format', value: 0.25 }],
      group: ids.tree,
      trajectory: ids.two,
      part: { index: 0, of: 1 },
    },
  ]);
});
