import { writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

const write = (...rows: readonly object[]) =>
  writeFile(shop.path('source'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const user = (content: string) => ({ role: 'user', content });
const reply = (content: string) => ({ role: 'assistant', content });
const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };

test('a chat with calls of tools is imported, and what it loses is counted by kind with the line of the first', async () => {
  const messages = [
    user('q'),
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: 'one', tool_call_id: 'c1' },
    { role: 'tool', content: 'two', tool_call_id: 'c2' },
    reply('done'),
  ];
  const plain = { messages: [user('other'), reply('a')] };
  await write(plain, { messages, tools: [{ type: 'function' }], parallel_tool_calls: false }, { messages, tools: [] });
  const { notes, rollouts } = await shop.importing();
  expect(rollouts).toBe(3);
  expect(notes).toEqual([
    {
      kind: 'field-not-read',
      field: 'parallel_tool_calls',
      rows: 1,
      firstLine: 2,
      message: '1 row (line 2): parallel_tool_calls is not read and not kept',
    },
  ]);
  expect((await shop.importing()).notes).toEqual(notes);
});

test.each<[string, object, object]>([
  ['two messages of the user', { messages: [user('a'), user('b'), reply('c')] }, { kind: 'messages-joined' }],
  ['two replies in a row', { messages: [user('a'), reply('b'), reply('c')] }, { kind: 'empty-message-added' }],
  ['a reply to the system alone', { messages: [{ role: 'system', content: 'a' }, reply('b')] }, { kind: 'empty-message-added' }],
  [
    'a system message behind one of the user',
    { messages: [user('a'), { role: 'system', content: 'b' }, reply('c')] },
    { kind: 'instruction-first' },
  ],
  ['a weight of a half', { messages: [user('a'), { ...reply('b'), weight: 0.5 }] }, { kind: 'weight-read-as-1' }],
  ['a reward', { messages: [user('a'), reply('b')], reward: 1 }, { kind: 'field-not-read', field: 'reward' }],
  [
    'metadata of others',
    { messages: [user('a'), reply('b')], metadata: { a: 1 } },
    { kind: 'field-not-read', field: 'metadata' },
  ],
  ['half a surrogate', { messages: [user('a\ud800'), reply('b')] }, { kind: 'characters-replaced' }],
  [
    'a NUL',
    {
      conversations: [
        { from: 'human', value: 'a' },
        { from: 'gpt', value: 'b\0' },
      ],
    },
    { kind: 'characters-replaced' },
  ],
  [
    'a call of a function in ShareGPT that is no JSON',
    {
      conversations: [
        { from: 'human', value: 'a' },
        { from: 'function_call', value: 'look' },
      ],
    },
    { kind: 'role-not-kept', field: 'function_call' },
  ],
  [
    'a metric of verifiers',
    { prompt: 'a', completion: 'b', reward: 1, metrics: { exact: 1 } },
    { kind: 'field-not-read', field: 'metrics' },
  ],
  [
    'a field of an item of AgentGym',
    {
      item_id: 'world_1',
      conversations: [
        { from: 'human', value: 'a' },
        { from: 'gpt', value: 'b' },
      ],
      level: 3,
    },
    { kind: 'field-not-read', field: 'level' },
  ],
])('%s is imported with a note', async (_, row, note) => {
  await write(row);
  const { notes } = await shop.importing();
  expect(notes).toEqual([{ field: null, rows: 1, firstLine: 1, message: expect.stringContaining('1 row (line 1): '), ...note }]);
});

test('a reward that is not read says which form reads one', async () => {
  await write({ messages: [user('a'), reply('b')], reward: 1 });
  const { notes } = await shop.importing();
  expect(notes[0]?.message).toContain(
    'so the rollout has no reward from it; --format verifiers reads prompt, completion and reward',
  );
  expect(await shop.db.selectFrom('rewards').selectAll().execute()).toEqual([]);
});

test('a chat that is kept whole has no note', async () => {
  await write({
    id: 'a',
    messages: [{ role: 'system', content: 's' }, user('a'), { ...reply('b'), weight: 0 }, user(''), reply('c')],
  });
  expect((await shop.importing()).notes).toEqual([]);
});

test('a row with any number of fields makes a bounded number of notes', async () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, 1]));
  await write({ messages: [user('a'), reply('b')], ...many });
  const { notes } = await shop.importing();
  expect(notes).toHaveLength(101);
  expect(notes.at(-1)?.message).toBe('1 row (line 1): one of further fields is not read and not kept');
});

test('ATIF: what a trajectory, its steps, calls, results and metrics hold besides is counted, and log-probabilities without ids are', async () => {
  const step = { step_id: 1, source: 'user', message: 'q', timestamp: '2025-01-01', metrics: { prompt_tokens: 1 } };
  const agent = {
    step_id: 2,
    source: 'agent',
    message: '',
    tool_calls: [{ tool_call_id: 'c', function_name: 'look', arguments: {}, extra: { a: 1 } }],
    observation: { results: [{ source_call_id: 'c', content: 'seen', subagent_trajectory_ref: [1] }], extra: { b: 1 } },
    metrics: { prompt_tokens: 3, logprobs: [-1], cost_usd: 0.1 },
    extra: { note: 'x' },
  };
  const said = { step_id: 3, source: 'agent', message: 'done', model_name: 'other' };
  await write({
    schema_version: 'ATIF-v1.4',
    agent: { name: 'a', model_name: 'm', extra: { c: 1 } },
    steps: [step, agent, said],
    notes: 'n',
    extra: { reward: 1, d: 1 },
  });
  const { notes } = await shop.importing();
  expect(notes.map(({ field }) => field)).toEqual([
    'notes',
    'agent.extra',
    'extra.d',
    'steps[].metrics',
    'steps[].timestamp',
    'steps[].metrics.cost_usd',
    'steps[].metrics.logprobs without completion_token_ids',
    'steps[].metrics.prompt_tokens',
    'steps[].tool_calls[].extra',
    'steps[].observation.extra',
    'steps[].observation.results[].subagent_trajectory_ref',
    'steps[].extra.note',
    'steps[].model_name',
  ]);
});

test('a log-probability beyond float32 refuses the row by its place', async () => {
  const reply = { step_id: 1, source: 'agent', message: 'a', metrics: { completion_token_ids: [1], logprobs: [-1e39] } };
  await write({ schema_version: 'ATIF-v1.4', agent: { name: 'a' }, steps: [reply] });
  await expect(shop.importing()).rejects.toThrow('steps.0.metrics.logprobs.0: is infinite in float32');
});

test('calls of tools that a reply holds as text are counted, and stay what the model was shown', async () => {
  const text = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>';
  const json = JSON.stringify({ content: 'a', tool_calls: [call] });
  await write(
    { messages: [user('a'), reply(text)] },
    { messages: [user('b'), reply(json)] },
    { messages: [user('c'), reply('{"tool": "no call"}')] },
    { messages: [user('d'), { ...reply(text), tool_calls: [call] }] },
  );
  const { notes } = await shop.importing();
  expect(notes.map(({ kind, rows, firstLine }) => ({ kind, rows, firstLine }))).toEqual([
    { kind: 'calls-as-text', rows: 2, firstLine: 1 },
  ]);
  const steps = await shop.db.selectFrom('steps').select('response').where('depth', '=', 1).execute();
  expect(steps.map(({ response }) => response)).toEqual(expect.arrayContaining([text, json]));
});

test('rewards that are no list of ours, and fields of single turns, are counted', async () => {
  await write({ prompt: 'a', completion: 'b', rewards: [0.5] });
  expect((await shop.importing()).notes.map(({ field }) => field)).toEqual(['rewards']);
  await shop.startAgain();
  const turns = [
    { from: 'human', value: 'a', id: 1 },
    { from: 'gpt', value: 'b' },
  ];
  await write({ item_id: 'webshop_1', conversations: turns });
  expect((await shop.importing()).notes.map(({ field }) => field)).toEqual(['conversations[].id']);
});
