import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import { newId } from '../../events/new-id.ts';
import { readRunTotals } from '../../projections/runs/read-run-totals.ts';
import { completion, type Sent } from '../../testing/upstream.ts';
import { assistant, openTestProxy, type TestProxy, textOfTokens, user } from './proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

async function send(lines: readonly object[] | string, to = url) {
  const headers = { 'content-type': 'application/json' };
  const body = typeof lines === 'string' ? lines : JSON.stringify({ lines });
  const response = await fetch(`${to}/v1/calls`, { method: 'POST', headers, body });
  return { status: response.status, body: (await response.json()) as object };
}

const PLACE = { run: 'run', task: 'task', rollout: '0' };
const BEGAN = Date.parse('2026-01-02T03:04:05.000Z');

/** A call that began so many ms behind the first one. */
function call(messages: readonly object[], content: string, at = 0, more: object = {}): Record<string, unknown> {
  const request = { model: 'served', messages, temperature: 0.5 };
  const asked = { ...request, logprobs: true, return_token_ids: true } as unknown as Sent;
  return {
    ...{ kind: 'call', id: newId(), ...PLACE, api: 'chat.completions', beganMs: BEGAN + at, firstMs: null, totalMs: 40 },
    ...{ server: 'http://model/v1', requestHash: sha256Hex(content), request, outcome: 'answered', status: 200 },
    reply: completion(content, asked),
    ...more,
  };
}
const line = (kind: string, more: object = {}) => ({ kind, id: newId(), ...PLACE, ...more });
const close = (more: object = {}) => ({ kind: 'close', id: newId(), run: 'run', ...more });

test('calls of a client become steps with their tokens and times, also when they are sent again, by another server', async () => {
  const lines = [
    call([user('A hall.')], 'go north'),
    call([user('A hall.'), assistant('go north'), user('A desk.')], 'take lamp', 100),
    line('reward', { value: 1 }),
    line('end', { success: true, observation: 'Taken.' }),
    close(),
  ];
  expect(await send(lines.slice(0, 2))).toEqual({ status: 200, body: { received: 2, refused: [], lossy: 0 } });
  const other = await proxy.restart();
  for (const to of [other, url])
    expect(await send(lines, to)).toEqual({ status: 200, body: { received: 5, refused: [], lossy: 0 } });

  const { runs, steps, calls, rollouts, rewards, prompts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(runs).toMatchObject([{ name: 'run', outcome: 'completed' }]);
  expect(steps).toMatchObject([
    { depth: 0, observation: 'A hall.' },
    { depth: 1, response: 'go north', observation: 'A desk.' },
    { depth: 2, response: 'take lamp', observation: 'Taken.', termination: 'terminated' },
  ]);
  expect(steps.slice(1).map(({ tokens }) => textOfTokens(tokens))).toEqual(['go north', 'take lamp']);
  expect(calls).toMatchObject([
    { source: 'client', outcome: 'answered', status: 200, timings: { totalMs: 40 } },
    { source: 'client', ordinal: 1 },
  ]);
  expect(rollouts).toMatchObject([{ outcome: 'terminated', success: true, steps: 2, startedAt: new Date(BEGAN) }]);
  expect(rewards).toMatchObject([{ component: 'environment', value: 1 }]);
  expect(prompts.get(steps[2]?.stepId ?? '')).toMatchObject({ server: 'http://model/v1', sampling: { temperature: 0.5 } });
});

test('calls that two servers receive at the same moment are recorded once', async () => {
  const ways = Array.from({ length: 6 }, (_, i) => ({ rollout: `${i}` }));
  const lines = ways.flatMap((way) => [
    call([user('A hall.')], 'go north', 0, way),
    call([user('A hall.'), assistant('go north'), user('A desk.')], 'take lamp', 100, way),
    line('reward', { value: 1, ...way }),
    line('end', { success: true, observation: 'Taken.', ...way }),
  ]);
  const other = await proxy.restart();
  const answers = await Promise.all([url, other, url, other].map((to) => send(lines, to)));
  for (const answer of answers) expect(answer).toEqual({ status: 200, body: { received: lines.length, refused: [], lossy: 0 } });

  const { steps, calls, rollouts, rewards, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect([steps.length, calls.length, rollouts.length, rewards.length]).toEqual([1 + 12, 12, 6, 6]);
  expect(rollouts.every(({ steps: taken, success }) => taken === 2 && success)).toBe(true);
});

test('a call that began while another of its rollout was in flight is on a branch of its own', async () => {
  const lines = [
    call([user('Plan.')], 'ask both'),
    call([user('Look up a.')], 'a', 50),
    call([user('Look up b.')], 'b', 51, { overlaps: true }),
    call([user('Plan.'), assistant('ask both'), user('a and b')], 'done', 120),
    line('end'),
  ];
  expect(await send(lines)).toMatchObject({ status: 200, body: { refused: [] } });
  const { calls, rollouts } = await proxy.recorded();
  expect(calls.map(({ place, unclear }) => [place, unclear])).toEqual([
    ['path', undefined],
    ['path', undefined],
    ['branch', 'overlapping'],
    ['path', undefined],
  ]);
  expect(rollouts).toMatchObject([{ steps: 2, unclearCalls: 0 }]); // the path went on
});

test.each([
  ['was given up', { outcome: 'cancelled', reply: undefined }, { steps: 0, unclearCalls: 1 }],
  ['was answered', {}, { steps: 1, unclearCalls: 0 }],
])(
  'a call beside one in flight that %s is counted as one that may belong to the path only where it has no reply',
  async (_, end, rollout) => {
    const given = [call([user('Plan.')], 'a', 0, end), call([user('Shorter plan.')], 'b', 1, { overlaps: true }), line('end')];
    expect(await send(given)).toMatchObject({ status: 200, body: { refused: [] } });
    expect((await proxy.recorded()).rollouts).toMatchObject([rollout]);
  },
);

test('a reward of which a reader of JSON loses a part is refused', async () => {
  const lines = [call([user('A hall.')], 'go north'), line('reward', { value: 7 })];
  const text = JSON.stringify({ lines }).replace('"value":7', '"value":12345678901234567890');
  expect(await send(text)).toMatchObject({
    status: 200,
    body: { received: 1, refused: [{ id: lines[1]?.id, message: expect.stringContaining('value is 12345678901234567890') }] },
  });
});

test('a stream is put together, and what came of one that broke off is kept with its call', async () => {
  const part = (delta: object, finish: string | null) => ({
    id: 's',
    model: 'served',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const streamed = { reply: undefined, parts: [part({ content: 'go ' }, null), part({ content: 'on' }, 'stop')] };
  const unfinished = { reply: undefined, parts: [part({ content: 'done' }, null)], isDone: true };
  const cut = {
    reply: undefined,
    parts: [part({ content: 'half' }, null)],
    outcome: 'cancelled',
    message: 'the program went away',
  };
  const refused = { reply: { error: { message: 'too long' } }, outcome: 'failed', status: 400, message: 'too long' };
  await send([
    call([user('q')], '', 0, streamed),
    call([user('q2')], '', 1, { ...cut, rollout: '1' }),
    call([user('q3')], '', 2, { ...refused, rollout: '2' }),
    call([user('q4')], '', 3, { ...unfinished, rollout: '3' }),
    close(),
  ]);
  const { steps, calls } = await proxy.recorded();
  expect(
    steps
      .map(({ response }) => response)
      .filter(Boolean)
      .sort(),
  ).toEqual(['done', 'go on']);
  const said = calls.map(({ outcome, message, choices }) => [outcome, message, choices.length]);
  expect(said).toContainEqual(['answered', '', 1]);
  expect(said).toContainEqual(['cancelled', 'the program went away', 1]);
  expect(said).toContainEqual(['failed', 'too long', 0]);
});

test('a line that the record refuses is named, and the others are on record', async () => {
  const late = call([user('more')], 'late', 90);
  const lines = [call([user('q')], 'a'), line('end'), late, call([user('q')], 'b', 5, { rollout: '1' })];
  expect(await send(lines)).toMatchObject({
    status: 200,
    body: { received: 3, refused: [{ id: late.id, message: expect.stringContaining('has ended') }] },
  });
  expect((await proxy.recorded()).rollouts).toHaveLength(2);
  expect(await send([{ ...call([user('q')], 'a'), beganMs: 'soon' }])).toMatchObject({ status: 400 });
});

test('a call of which a part cannot be read is counted, and names it', async () => {
  const [odd, plain] = [call([user('q'), { role: 'critic' }], 'a'), call([user('q')], 'b', 5, { rollout: '1' })];
  expect(await send([odd, plain])).toMatchObject({ status: 200, body: { received: 2, lossy: 1 } });
  const [first] = (await proxy.recorded()).calls;
  expect(JSON.parse(String(first?.attributes)).losses).toEqual(['request: messages.1.role is "critic"']);
});

test('what cannot be read of the calls of rollouts is counted with their ends and summed in their run, also where another server ends them', async () => {
  const odd = { role: 'critic' };
  const calls = [
    call([user('q'), odd], 'a'),
    call([user('q'), assistant('a'), user('r'), odd, odd], 'b', 100),
    call([user('q'), odd], 'c', 5, { rollout: '1' }),
    call([user('q')], 'd', 5, { rollout: '2' }),
  ];
  expect(await send(calls)).toMatchObject({ status: 200, body: { lossy: 3 } });
  await proxy.recorded();
  const other = await proxy.restart();
  const more = call([user('q'), assistant('c'), user('r'), odd], 'e', 100, { rollout: '1' });
  expect(await send([more, ...['0', '1', '2'].map((rollout) => line('end', { rollout }))], other)).toMatchObject({
    body: { refused: [] },
  });
  const { runs, rollouts } = await proxy.recorded();
  expect(rollouts.map(({ ordinal, lostParts }) => [ordinal, lostParts]).sort()).toEqual([
    [0, 3],
    [1, 2],
    [2, 0],
  ]);
  const totals = await readRunTotals(
    proxy.api.database.db,
    runs.map(({ runId }) => runId),
  );
  expect(totals).toMatchObject([{ lostParts: 5 }]);
});

test('lines that are sent again while they are recorded are recorded once', async () => {
  const ways = Array.from({ length: 4 }, (_, i) => ({ rollout: `${i}` }));
  const lines = ways.flatMap((way) => [
    call([user('A hall.')], 'go north', 0, way),
    call([user('A hall.'), assistant('go north'), user('A desk.')], 'take lamp', 100, way),
  ]);
  const answers = await Promise.all([send(lines), send(lines), send(lines)]);
  for (const answer of answers) expect(answer).toEqual({ status: 200, body: { received: 8, refused: [], lossy: 0 } });
  await send(ways.map((way) => line('end', way)));
  const { steps, calls, rollouts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls).toHaveLength(8);
  expect(steps.filter(({ depth }) => depth > 0)).toHaveLength(8);
  expect(rollouts.map((rollout) => rollout.steps)).toEqual([2, 2, 2, 2]);
});

test('a call that no record takes, and one of the future, are named as refused, and what follows is on record', async () => {
  const messages = [user('q')];
  const reply = completion('a', { model: 'served', messages } as unknown as Sent) as { readonly choices: readonly object[] };
  const many = call(messages, 'a', 0, { reply: { ...reply, choices: Array(129).fill(reply.choices[0]) } });
  const ahead = call(messages, 'a', 0, { rollout: '1', beganMs: Date.now() + 200_000, totalMs: 200_000 });
  const lines = [many, call(messages, 'b', 50), ahead, call(messages, 'c', 0, { rollout: '1' })];
  expect(await send(lines)).toMatchObject({
    status: 200,
    body: {
      received: 2,
      refused: [
        { id: ahead.id, message: expect.stringContaining("s ahead of the server's clock") },
        { id: many.id, message: expect.stringContaining('choices'), remedy: 'ask for fewer or shorter replies' },
      ],
    },
  });
  const { steps, calls, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls.map(({ outcome, message }) => [outcome, message]).sort()).toEqual([
    ['answered', ''],
    ['answered', ''],
    ['failed', expect.stringContaining('choices')],
  ]);
  expect(await send([many])).toMatchObject({ body: { received: 1, refused: [] } }); // it is on record by now
  expect(steps.map(({ depth }) => depth).filter((depth) => depth > 0)).toEqual([]);
});

test("calls of Anthropic's protocol become steps with thoughts, calls of tools and their results, also when they came as streams", async () => {
  const body = {
    model: 'claude',
    system: 'Play.',
    max_tokens: 9,
    stop_sequences: ['.'],
    tools: [{ name: 'look', input_schema: {} }],
  };
  const opening = { role: 'user', content: 'A hall.' };
  const said = [
    { type: 'thinking', thinking: 'A lamp?', signature: 's' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'desk' } },
  ];
  const result = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'A lamp.' }] }],
  };
  const whole = {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    content: said,
    model: 'claude',
    stop_reason: 'tool_use',
    usage: { input_tokens: 5, output_tokens: 7 },
  };
  const parts = [
    {
      type: 'message_start',
      message: { ...whole, id: 'm2', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...['I take ', 'it.'].map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'c2', name: 'take', input: {} } },
    ...['{"what":', '"lamp"}'].map((partial_json) => ({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json },
    })),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 8 } },
    { type: 'message_stop' },
  ];
  const anthropic = (messages: readonly object[], at: number, more: object) =>
    call([], '', at, { api: 'messages', request: { ...body, messages }, reply: undefined, ...more });
  await send([anthropic([opening], 0, { reply: whole })]);
  url = await proxy.restart();
  await send([anthropic([opening, { role: 'assistant', content: said }, result], 50, { parts }), line('end')]);
  const { steps, trees, tools, prompts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(trees).toMatchObject([{ instruction: 'Play.' }]);
  expect(steps.slice(1)).toMatchObject([
    { response: 'I look.', observation: 'A lamp.', finishReason: 'tool_use', completionTokens: 7 },
    { response: 'I take it.', action: 'take {"what":"lamp"}', completionTokens: 8 },
  ]);
  expect(tools).toMatchObject([{ tool: 'look', arguments: '{"at":"desk"}', output: 'A lamp.' }]);
  const shown = prompts.get(steps[2]?.stepId ?? '');
  expect(shown?.messages.map(({ role, parts: [first] }) => [role, first?.kind])).toEqual([
    ['system', 'text'],
    ['user', 'text'],
    ['assistant', 'reasoning'],
    ['tool', 'text'],
  ]);
  expect(shown?.sampling).toMatchObject({ maxTokens: 9, stop: ['.'] });
});

test('what was embedded is kept with its call, and is no step', async () => {
  const embedded = { model: 'e', data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } };
  const request = { model: 'e', input: ['a text'] };
  await send([call([], '', 0, { api: 'embeddings', request, reply: embedded }), line('end')]);
  const { steps, calls, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(steps).toMatchObject([{ depth: 0 }]);
  expect(calls).toMatchObject([{ api: 'embeddings', outcome: 'answered', stepId: null, choices: [] }]);
  expect(JSON.parse(String(calls[0]?.attributes))).toMatchObject({ input: ['a text'], vectors: 1, dimensions: 2, model: 'e' });
});
