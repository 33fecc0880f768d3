import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pack } from '../../../events/packed.ts';
import { readDrift } from '../../../projections/prompts/read-drift.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { emptyReadModels } from '../../../testing/read-models.ts';
import { recordPrompt, type ShownPrompt } from '../../../testing/record-prompt.ts';
import { tinyIds, writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import type { DatasetError } from '../dataset-error.ts';
import { type ChatTokenizer, openChatTokenizer } from './chat-tokenizer.ts';
import { type ExportOptions, exportTrajectories } from './export-trajectories.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let duckdb: DuckDBInstance;
let folder: string;

beforeAll(async () => {
  duckdb = await DuckDBInstance.create(':memory:');
});
afterAll(async () => {
  duckdb.closeSync();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-verl-'));
});
afterEach(() => rm(folder, { recursive: true }));

const out = () => join(folder, 'data');

function exported(format: ExportOptions['format'], tokenizer?: ChatTokenizer) {
  return exportTrajectories({
    db: database.db,
    blobs: new MemoryBlobs(),
    query: everyTrajectory,
    ...{ format, tokenizer },
    out: out(),
    existing: 'refuse',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
}

async function rows(format: ExportOptions['format'], tokenizer?: ChatTokenizer): Promise<Record<string, unknown>[]> {
  await exported(format, tokenizer);
  const connection = await duckdb.connect();
  try {
    return (await connection.runAndReadAll(`select * from read_parquet('${out()}')`)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

async function rowsIn(name: string, tokenizer?: ChatTokenizer): Promise<Record<string, unknown>[]> {
  const whole = folder;
  folder = join(whole, name);
  await mkdir(folder);
  try {
    return await rows({ kind: 'verl', layout: 'trajectory' }, tokenizer);
  } finally {
    folder = whole;
  }
}

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
    await givenEvents(database.db, recorded.events);
    const [one] = await rows({ kind: 'verl', layout: 'trajectory' });
    expect(one).toEqual({
      uid: ids.tree,
      traj_uid: ids.one,
      ...{ cut_index: 0, cuts: 0, first_step: 0, step_ids: ids.steps.slice(0, 2), tokenised: 'recorded', prompts: null },
      ...{ data_source: 'textcraft', prompt_source: 'composed', step_ends: [1, 6] },
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
      },
    });
  });

  test('a branching rollout has the earlier steps in its prompt, and trains on its own alone', async () => {
    const { recorded, ids } = builder();
    await givenEvents(database.db, recorded.events);
    const [, two] = await rows({ kind: 'verl', layout: 'trajectory' });
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
    recorded.finishRollout(tree, rollout, last, { steps: 2 });
    await givenEvents(database.db, recorded.events);
    const refused = await exported({ kind: 'verl', layout: 'trajectory' }).then(
      () => null,
      (error: DatasetError) => error,
    );
    expect(refused?.code).toBe('missing-tokens');
    expect(refused?.message).toContain(`trajectory ${rollout}`);
    expect(refused?.message).toContain(said);
    expect(refused?.message).toContain('--layout step');
    expect(await readdir(folder)).toEqual([]);
  });
});

type Turn = readonly [prompt: readonly number[] | null, sampled: readonly number[] | null, response: string];

/** Records one rollout whose steps were asked with these ids, and returns its run and steps. */
function conversation(turns: readonly Turn[], images: readonly (readonly string[])[] = []) {
  const recorded = new EventBuilder('conversation');
  const runId = recorded.run();
  const tree = recorded.tree(runId);
  const rollout = recorded.rollout(tree);
  let [parent, before]: [string, ShownPrompt | null] = [tree.rootStepId, null];
  const steps: string[] = [];
  for (const [k, [ids, sampled, response]] of turns.entries()) {
    const tokens = sampled && {
      ids: pack('int32', sampled),
      logProbs: pack(
        'float32',
        sampled.map((id) => -id / 64),
      ),
      mask: null,
    };
    parent = recorded.step(tree, rollout, parent, k + 1, {
      tokens,
      response,
      observation: `seen ${k}`,
      policySpans: [span(0, 1, 0)],
    });
    steps.push(parent);
    recorded.reward(tree, parent, 2 ** -k);
    if (ids)
      before = recordPrompt(recorded, tree, {
        stepId: parent,
        text: `asked ${k}`,
        ids,
        sampled: sampled ?? [],
        before,
        images: images[k] ?? [],
      });
  }
  recorded.finishRollout(tree, rollout, parent, { steps: turns.length });
  return { recorded, runId, steps };
}

describe('rows of several steps', () => {
  test('a trajectory is one row of its prompt and all tokens behind it, cut where a prompt does not continue', async () => {
    const { recorded, runId, steps } = conversation([
      [[1, 2], [3, 4], 'a'],
      [[1, 2, 3, 4, 90], [5], 'b'],
      [[1, 2, 34, 90, 5, 91], [6], 'c'],
    ]);
    await givenEvents(database.db, recorded.events);
    const all = await rows({ kind: 'verl', layout: 'trajectory' });
    expect(all).toHaveLength(2);
    expect(all[0]).toMatchObject({
      ...{ cut_index: 0, cuts: 1, first_step: 0, step_ids: steps.slice(0, 2), __num_turns__: 2, episode_lengths: 3 },
      ...{ prompts: [1, 2], responses: [3, 4, 90, 5], response_mask: [1, 1, 0, 1], step_indices: [0, 0, 0, 1] },
      ...{ rollout_log_probs: [-3 / 64, -4 / 64, 0, -5 / 64], step_ends: [1, 3], token_level_scores: [0, 1, 0, 0.5] },
      ...{ tokenised: 'recorded', prompt_source: 'recorded', raw_prompt: [{ role: 'user', content: 'asked 0' }] },
    });
    expect(all[1]).toMatchObject({
      ...{
        cut_index: 1,
        cuts: 1,
        first_step: 2,
        step_ids: steps.slice(2),
        __num_turns__: 1,
        uid: all[0]?.uid,
        traj_uid: all[0]?.traj_uid,
      },
      ...{ prompts: [1, 2, 34, 90, 5, 91], responses: [6], step_indices: [2], step_ends: [0], token_level_scores: [0.25] },
      raw_prompt: [{ role: 'user', content: 'asked 2' }],
    });
    expect(await readDrift(database.db, [runId])).toMatchObject([{ steps: 1, firstStepId: steps[2] }]);
  });

  test('rows of random conversations hold exactly the recorded ids, and their masks exactly the sampled ones', async () => {
    const ids = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 5 });
    const turn = fc.record({ sampled: ids, shown: ids, drifts: fc.boolean() });
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (given) => {
        await emptyReadModels(database.db);
        let prompt: readonly number[] = [1];
        const turns = given.map(({ sampled, shown, drifts }): Turn => {
          const asked = prompt;
          prompt = [...(drifts ? [99] : []), ...asked, ...sampled, ...shown];
          return [asked, sampled, 'said'];
        });
        await givenEvents(database.db, conversation(turns).recorded.events);
        const all = (await rowsIn(`data-${kept++}`)) as {
          readonly prompts: number[];
          readonly responses: number[];
          readonly response_mask: number[];
          readonly first_step: number;
          readonly __num_turns__: number;
        }[];
        expect(all.map((row) => row.first_step)).toEqual([
          0,
          ...given.slice(0, -1).flatMap(({ drifts }, k) => (drifts ? [k + 1] : [])),
        ]);
        for (const row of all) {
          const [asked, sampled] = turns[row.first_step + row.__num_turns__ - 1] ?? [];
          expect([...row.prompts, ...row.responses]).toEqual([...(asked ?? []), ...(sampled ?? [])]);
        }
        expect(all.flatMap((row) => row.responses.filter((_, t) => row.response_mask[t] === 1))).toEqual(
          turns.flatMap(([, sampled]) => sampled),
        );
      }),
      { numRuns: 15 },
    );
  }, 120_000);
});

describe('texts without ids', () => {
  const texts: readonly Turn[] = [
    [null, null, 'look'],
    [null, null, 'take'],
  ];
  const opening =
    '<|im_start|>system\nCraft what is asked.<|im_end|>\n<|im_start|>user\nGoal: craft tree.<|im_end|>\n<|im_start|>assistant\n';

  test('texts are tokenised by a tokenizer that is given, and the row says so', async () => {
    await givenEvents(database.db, conversation(texts).recorded.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(folder));
    const [row, ...more] = await rows({ kind: 'verl', layout: 'trajectory', tokenizer: tokenizer.sha256 }, tokenizer);
    expect(more).toEqual([]);
    const between = '\n<|im_start|>user\nseen 0<|im_end|>\n<|im_start|>assistant\n';
    expect(row).toMatchObject({
      ...{ tokenised: 'retokenised', rollout_log_probs: null, prompts: tinyIds(opening), prompt_source: 'composed' },
      responses: [...tinyIds('look<|im_end|>'), ...tinyIds(between), ...tinyIds('take<|im_end|>')],
      response_mask: [...Array(5).fill(1), ...tinyIds(between).map(() => 0), ...Array(5).fill(1)],
    });
  });

  test('ids on record stay as they are, and those outside the vocabulary of the tokenizer are refused with the step', async () => {
    const recorded = conversation([[tinyIds(opening), [70, 71], 'look']]);
    await givenEvents(database.db, recorded.recorded.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(folder));
    expect(await rows({ kind: 'verl', layout: 'trajectory' }, tokenizer)).toMatchObject([
      { responses: [70, 71], tokenised: 'recorded' },
    ]);
    await emptyReadModels(database.db);
    await givenEvents(database.db, conversation([[[1], [9_000], 'look']]).recorded.events);
    await expect(rowsIn('other', tokenizer)).rejects.toMatchObject({
      ...{ code: 'bad-row', message: expect.stringMatching(/step 1 has the token id 9000, outside the vocabulary of 258/) },
    });
  });
});

test('a log-probability that is no number is refused with the step, and no file is left', async () => {
  const { recorded, steps } = conversation([[[1], [2], 'a']]);
  const taken = recorded.events.find((event) => event.type === 'StepTaken');
  if (taken?.type === 'StepTaken' && taken.data.tokens) taken.data.tokens.logProbs = pack('float32', [Number.NaN]);
  await givenEvents(database.db, recorded.events);
  await expect(exported({ kind: 'verl', layout: 'trajectory' })).rejects.toMatchObject({
    ...{ code: 'bad-row', message: expect.stringContaining(`step ${steps[0]}: token 0 has the log-probability NaN`) },
  });
  expect(await readdir(folder)).toEqual([]);
});

describe('a row per step', () => {
  test('a step appears once, in the trajectory that took it, with the preceding chat', async () => {
    const { recorded, ids } = builder();
    await givenEvents(database.db, recorded.events);
    const all = await rows({ kind: 'verl', layout: 'step' });
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
    await givenEvents(database.db, recorded.events);
    const all = await rows({ kind: 'verl', layout: 'step' });
    expect(all).toHaveLength(2);
    expect(all[0]).toMatchObject({ responses: null, response_mask: null, rollout_log_probs: null });
  });
});

test('a TRL row is a scored completion of a trajectory, in the group that it is compared in', async () => {
  const { recorded, ids } = builder();
  await givenEvents(database.db, recorded.events);
  await exported({ kind: 'trl-grpo', metadata: 'omit' });
  const lines = (await readFile(out(), 'utf8')).trimEnd().split('\n');
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
      rewards: { environment: 1, format: 0.25, length: -0.5 },
      group: ids.tree,
    },
    {
      prompt: [...opening, { role: 'assistant', content: 'look' }, { role: 'user', content: 'a shelf' }],
      completion: [{ role: 'assistant', content: 'leave' }],
      reward: 0.25,
      rewards: { format: 0.25 },
      group: ids.tree,
    },
  ]);
});
