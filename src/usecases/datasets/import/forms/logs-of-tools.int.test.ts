import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { tokensAsJson } from '../../../../projections/step-tree/token-bytes.ts';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

const write = (value: unknown) => writeFile(shop.path('source'), JSON.stringify(value));
const steps = () =>
  shop.db
    .selectFrom('steps')
    .selectAll()
    .select(tokensAsJson('steps').as('tokens'))
    .where('depth', '>', 0)
    .orderBy('treeId')
    .orderBy('rolloutId')
    .orderBy('depth')
    .execute();
const rollouts = () => shop.db.selectFrom('rollouts').selectAll().execute();
const rewards = async () =>
  (await shop.db.selectFrom('rewards').select(['component', 'value']).execute()).map(({ component, value }) => [
    component,
    value,
  ]);
const aliases = async () => (await shop.db.selectFrom('trees').select('alias').execute()).map(({ alias }) => alias).sort();
const noted = (notes: readonly { kind: string; field: string | null }[]) => notes.map(({ kind, field }) => `${kind} ${field}`);

describe('logs of Inspect', () => {
  // written by Inspect 0.3.285: two samples of two epochs, with a tool, and a scorer that gives no score
  const LOG = join(import.meta.dirname, '../fixtures/sums');

  test.each(['eval', 'json'])(
    'a log as .%s is a rollout per sample and epoch: its chat, calls, tools, usage and scores',
    async (end) => {
      await copyFile(`${LOG}.${end}`, shop.path('source'));
      const report = await shop.importing();
      expect(report).toMatchObject({ source: 'inspect', trees: 2, rollouts: 4, steps: 8 });
      expect(noted(report.notes)).toContain('field-not-read target');
      expect(await aliases()).toEqual(['2', 'one']);
      const taken = await steps();
      expect(taken.map(({ response }) => response)).toEqual(Array(4).fill(['I add.', 'It is 3.']).flat());
      expect(taken[0]).toMatchObject({
        observation: expect.stringContaining('3 long long'),
        reply: { toolCalls: [{ name: 'add', arguments: '{"x":1,"y":2}' }] },
      });
      expect(taken[0]?.policySpans[0]?.policyId).toBe('mockllm/model');
      expect((await rewards()).sort()).toEqual([
        ['includes', 0],
        ['includes', 0],
        ['includes', 1],
        ['includes', 1],
      ]);
      expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
    },
  );

  const log = (...samples: readonly object[]) => ({
    version: 2,
    status: 'success',
    eval: { task: 'sums', model: 'm' },
    samples,
  });
  const sample = {
    id: 7,
    epoch: 1,
    messages: [
      { role: 'system', content: 'Be exact.' },
      { role: 'user', content: 'attachment://a1' },
      {
        role: 'assistant',
        id: 'r1',
        content: [
          { type: 'reasoning', reasoning: 'hm' },
          { type: 'text', text: 'I look.' },
        ],
        tool_calls: [{ id: 'c1', function: 'look', arguments: { at: 'x' } }],
      },
      { role: 'tool', content: '', tool_call_id: 'c1', function: 'look', error: { type: 'timeout', message: 'too slow' } },
      { role: 'assistant', content: 'Nothing.' },
    ],
    attachments: { a1: 'a long question' },
    events: [
      {
        event: 'model',
        tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
        output: {
          choices: [{ message: { id: 'r1' }, logprobs: { content: [] } }],
          usage: { input_tokens: 5, input_tokens_cache_read: 2, output_tokens: 3 },
        },
      },
    ],
    scores: { match: { value: 'P' }, judge: { value: { kind: 0.25, exact: true } }, words: { value: 'fine' } },
    limit: { type: 'message', limit: 5 },
  };

  test('thoughts, attachments, errors of tools and usage are kept, and what is no number is noted, not scored', async () => {
    await write(log(sample));
    const { notes } = await shop.importing();
    expect(noted(notes)).toEqual(
      expect.arrayContaining(['field-not-read events[].output.choices[].logprobs', 'field-not-read scores.words']),
    );
    const [first] = await steps();
    expect(first).toMatchObject({ thought: 'hm', response: 'I look.', observation: 'too slow' });
    expect(first?.reply?.toolCalls).toEqual([{ id: 'c1', name: 'look', arguments: '{"at":"x"}' }]);
    expect((await rewards()).sort()).toEqual([
      ['judge.exact', 1],
      ['judge.kind', 0.25],
      ['match', 0.5],
    ]);
    expect(await rollouts()).toMatchObject([{ outcome: 'truncated', success: null }]);
  });

  test('a score of NaN is no reward, and a sample that failed before a reply holds no conversation', async () => {
    const text = JSON.stringify(
      log({ ...sample, scores: { match: { value: 'nan' } } }, { id: 8, messages: [], error: { message: 'e' } }),
    );
    await writeFile(shop.path('source'), text.replace('"nan"', 'NaN'));
    expect(await shop.importing()).toMatchObject({ rollouts: 1, withoutConversation: 1 });
    expect(await rewards()).toEqual([]);
  });

  test('a sample that cannot be read stops the import with its number, or is skipped and counted', async () => {
    await write(log(sample, { ...sample, messages: [{ role: 'robot', content: 'x' }] }));
    await expect(shop.importing()).rejects.toThrow('source line 2: messages.0.role');
    const { skipped, ...report } = await shop.importing({ badRows: 'skip' });
    expect(report).toMatchObject({ rollouts: 1 });
    expect(skipped).toMatchObject({ rows: 1, first: [{ line: 2 }] });
  });

  test('a sample that is stored in chunks is refused with a remedy that stays below the limit of a row', async () => {
    const whole = await readFile(`${LOG}.eval`, 'latin1');
    const chunked = whole.replaceAll('samples/2_epoch_1.json', 'samples/2_/sample.json');
    await writeFile(shop.path('source'), chunked, 'latin1');
    await expect(shop.importing()).rejects.toThrow('in parts of fewer samples where that is over 64 MiB');
    expect(await shop.importing({ badRows: 'skip' })).toMatchObject({ rollouts: 3, skipped: { rows: 1 } });
  });

  test('a zip that is cut off, and one of another program, are refused by name', async () => {
    const whole = await readFile(`${LOG}.eval`);
    await writeFile(shop.path('source'), whole.subarray(0, whole.length - 200));
    await expect(shop.importing()).rejects.toThrow('the zip is cut off');
    const empty = Buffer.alloc(22);
    empty.writeUInt32LE(0x06054b50, 0);
    await writeFile(shop.path('source'), empty);
    await expect(shop.importing()).rejects.toThrow('the zip has no header.json, so it is no log of Inspect');
  });
});

describe('trajectories of SWE-agent', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
  const file = {
    trajectory: [
      { action: 'ls', observation: 'a.py', response: 'I list.', thought: 'I list.', state: {}, query: [] },
      { action: 'submit', observation: 'diff', response: 'Done.', thought: 'Done.', query: [] },
    ],
    history: [
      { role: 'system', content: 'You fix bugs.', agent: 'main', message_type: 'system_prompt' },
      { role: 'user', content: [{ type: 'text', text: 'Fix it.', cache_control: null }], agent: 'main' },
      {
        role: 'assistant',
        content: 'I list.',
        agent: 'main',
        tool_calls: [call],
        thinking_blocks: [{ type: 'thinking', thinking: 'where?', signature: 's' }],
      },
      { role: 'tool', content: 'a.py', agent: 'main', tool_call_ids: ['c1'] },
      { role: 'assistant', content: 'Done.', agent: 'main', tool_calls: [{ ...call, id: 'c2' }] },
    ],
    info: { exit_status: 'submitted (exit_cost)', submission: 'diff', model_stats: { api_calls: 2 } },
    environment: 'main',
    replay_config: JSON.stringify({ problem_statement: { id: 'repo-1' }, agent: { model: { name: 'gpt' } } }),
  };

  test('a history is a trajectory of its task and model, with calls, results and thoughts, without a reward', async () => {
    await write(file);
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'swe-agent', rollouts: 1, steps: 2 });
    expect(noted(report.notes)).toEqual(
      expect.arrayContaining(['field-not-read info.submission', 'field-not-read trajectory[].action']),
    );
    expect(await aliases()).toEqual(['repo-1']);
    const [first, last] = await steps();
    expect(first).toMatchObject({ response: 'I list.', thought: 'where?', observation: 'a.py' });
    expect(first?.reply?.toolCalls).toEqual([{ id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }]);
    expect(first?.policySpans[0]?.policyId).toBe('gpt');
    expect(last).toMatchObject({ response: 'Done.', observation: 'diff' });
    expect(await rewards()).toEqual([]);
    expect(await rollouts()).toMatchObject([{ outcome: 'truncated', success: null }]);
    expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
  });

  test('a trajectory of mini-SWE-agent is its messages, with calls and results; how it ended is no message of it', async () => {
    const source = join(import.meta.dirname, '../fixtures/mini-swe-agent.traj.json');
    const report = await shop.importing({ source });
    expect(report).toMatchObject({ source: 'swe-agent', rollouts: 1, steps: 2 });
    expect(noted(report.notes)).toEqual(
      expect.arrayContaining(['field-not-read info.submission', 'field-not-read messages[].extra']),
    );
    const [first, last] = await steps();
    expect(first).toMatchObject({ observation: 'a.py', reply: { toolCalls: [{ id: 'c1', name: 'bash' }] } });
    expect(last).toMatchObject({ response: 'submit', observation: '', policySpans: [{ policyId: 'm' }] });
    expect(await rollouts()).toMatchObject([{ outcome: 'terminated', success: null }]);
    await write({ ...JSON.parse(await readFile(source, 'utf8')), info: { exit_status: 'LimitsExceeded' } });
    await shop.startAgain();
    await shop.importing();
    expect(await rollouts()).toMatchObject([{ outcome: 'truncated' }]);
  });

  test('a file whose history has a message without a role is refused with the field', async () => {
    await write({ ...file, history: [{ content: 'x' }] });
    await expect(shop.importing()).rejects.toThrow('source line 1: history.0.role:');
  });
});

describe('results of tau-bench', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"id":1}' } };
  const row = {
    task_id: 3,
    reward: 1,
    trial: 0,
    info: { user_cost: 0.1 },
    traj: [
      { role: 'system', content: 'policy' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', name: 'find', content: '{}' },
      { role: 'assistant', content: 'Found.', tool_calls: null },
      { role: 'user', content: '###STOP###' },
    ],
  };

  test('each conversation is a rollout of its task; a reward of 1 is success, and one without messages is passed over', async () => {
    await write([row, { ...row, trial: 1, reward: 0 }, { ...row, trial: 2, reward: 0, traj: [], info: { error: 'e' } }]);
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'tau-bench', trees: 1, rollouts: 2, steps: 4, withoutConversation: 1 });
    expect(noted(report.notes)).toEqual(['field-not-read info']);
    expect((await rewards()).sort()).toEqual([
      ['environment', 0],
      ['environment', 1],
    ]);
    expect((await rollouts()).map(({ success }) => success).sort()).toEqual([false, true]);
    const [first, last] = await steps();
    expect(first).toMatchObject({ observation: '{}', reply: { toolCalls: [{ id: 'c1', name: 'find', arguments: '{"id":1}' }] } });
    expect(last).toMatchObject({ response: 'Found.', observation: '###STOP###' });
  });

  test('a simulation of tau2-bench is a rollout without the calls of the simulated user, its greeting context', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2 };
    const simulation = {
      id: 's',
      task_id: 'mobile',
      trial: 0,
      termination_reason: 'max_steps',
      reward_info: { reward: null, info: { note: 'premature' } },
      messages: [
        { role: 'assistant', content: 'Hi! How can I help?', turn_idx: 0 },
        { role: 'user', content: 'No signal.' },
        { role: 'user', tool_calls: [{ id: 'u1', name: 'toggle', arguments: {}, requestor: 'user' }] },
        { role: 'tool', id: 'u1', content: 'on', requestor: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'c1', name: 'find', arguments: { id: 1 }, requestor: 'assistant' }], usage },
        { role: 'tool', id: 'c1', content: '{}', requestor: 'assistant' },
        { role: 'assistant', content: 'It is on.', usage },
      ],
    };
    const info = { agent_info: { llm: 'gpt' }, environment_info: { domain_name: 'telecom' } };
    await write({ info, tasks: [], simulations: [simulation] });
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'tau-bench', rollouts: 1, steps: 3 });
    expect(noted(report.notes)).toEqual(
      expect.arrayContaining(['part-not-read tool call of the user', 'field-not-read reward_info.info']),
    );
    const taken = await steps();
    expect(taken.map(({ policySpans }) => policySpans[0]?.policyId)).toEqual(['gpt:context', 'gpt', 'gpt']);
    expect(taken[1]).toMatchObject({ observation: '{}', reply: { toolCalls: [{ id: 'c1', arguments: '{"id":1}' }] } });
    expect(await rewards()).toEqual([]);
    expect(await rollouts()).toMatchObject([{ outcome: 'truncated', success: null }]);
  });

  test('a result without its messages is refused with its number, or skipped and counted', async () => {
    await write([row, { task_id: 4, reward: 1, traj: 'none' }]);
    await expect(shop.importing()).rejects.toThrow('source line 1: traj:');
    expect((await shop.importing({ badRows: 'skip' })).skipped).toMatchObject({ rows: 1 });
  });
});

describe('events of OpenHands', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'execute_bash', arguments: '{"command":"ls"}' } }];
  const reply = {
    id: 'r1',
    model: 'gpt',
    choices: [{ message: { role: 'assistant', content: 'I list.', tool_calls: calls, reasoning_content: 'where?' } }],
    usage: { prompt_tokens: 9, completion_tokens: 2 },
  };
  const metadata = { function_name: 'execute_bash', tool_call_id: 'c1', model_response: reply, total_calls_in_response: 1 };
  const tools = [{ type: 'function', function: { name: 'execute_bash' } }];
  const events = [
    { id: 0, source: 'agent', action: 'system', message: 'You fix.', args: { content: 'You fix.', tools } },
    { id: 1, source: 'user', action: 'message', message: 'Fix it.', args: { content: 'Fix it.', image_urls: [] } },
    { id: 2, source: 'user', action: 'recall', args: { query: 'Fix it.' } },
    { id: 3, source: 'agent', action: 'run', args: { command: 'ls' }, tool_call_metadata: metadata },
    { id: 4, source: 'agent', observation: 'run', content: 'a.py', extras: {}, tool_call_metadata: metadata },
    { id: 5, source: 'agent', action: 'finish', args: { final_thought: 'Done.' } },
  ];

  test.each<[string, unknown, object]>([
    ['an array of events', events, { outcome: 'terminated', success: null }],
    [
      'a row of output.jsonl',
      {
        instance_id: 'repo-1',
        history: events,
        error: 'failed',
        report: { resolved: false },
        metadata: { llm_config: { model: 'gpt' } },
      },
      { outcome: 'failed', success: false },
    ],
  ])('%s is a trajectory with calls, results and thoughts, and what is not read is noted', async (_, file, end) => {
    await write(file);
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'openhands', rollouts: 1, steps: 2 });
    expect(noted(report.notes)).toContain('line-not-read recall');
    const [first, last] = await steps();
    expect(first).toMatchObject({ response: 'I list.', thought: 'where?', observation: 'a.py' });
    expect(first?.reply?.toolCalls).toEqual([{ id: 'c1', name: 'execute_bash', arguments: '{"command":"ls"}' }]);
    expect(first?.policySpans[0]?.policyId).toBe('gpt');
    expect(last).toMatchObject({ response: 'Done.' });
    expect(await rewards()).toEqual([]);
    expect(await rollouts()).toMatchObject([end]);
    expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
  });

  test('an event that cannot be read refuses its trajectory with the place; such rows can be skipped and are counted', async () => {
    const broken = { instance_id: 'b', history: [{ source: 'agent', action: 7 }] };
    await write([{ instance_id: 'a', history: events }, broken]);
    await expect(shop.importing()).rejects.toThrow('source line 1: history.0.action:');
    expect(await shop.importing({ badRows: 'skip' })).toMatchObject({ rollouts: 1, skipped: { rows: 1 } });
  });

  test.each([0, 1, 5])('a session whose event %i is no JSON is left out whole', async (at) => {
    const lines = events.map((event, i) => (i === at ? '{"id":' : JSON.stringify(event)));
    await writeFile(shop.path('source'), lines.join('\n'));
    await expect(shop.importing()).rejects.toThrow(`source line ${at + 1}: `);
    await expect(shop.importing({ badRows: 'skip' })).rejects.toThrow(
      'holds no conversation (0 items without one, 1 rows skipped)',
    );
  });
});
