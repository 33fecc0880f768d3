import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { createKey } from '../../postgres/keys.ts';
import { until } from '../../testing/until.ts';
import { completion, streamed } from '../../testing/upstream.ts';
import { openTestProxy, type TestProxy } from './proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

async function post(
  path: string,
  body: object,
  { headers = {}, base = url, signal }: { headers?: object; base?: string; signal?: AbortSignal } = {},
) {
  const response = await fetch(`${base}/v1/proxy${path}`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) },
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  const json = () =>
    JSON.parse(text) as { choices: { message: { content: string } }[]; error: { message: string; remedy: string } };
  return { status: response.status, headers: response.headers, text, json };
}
const chat = (messages: readonly object[], more: object = {}, place = '/run/task/0') =>
  post(`${place}/chat/completions`, { model: 'served', messages, ...more });
const end = (body: object = {}, place = '/run/task/0') => post(`${place}/end`, body);
const ids = (tokens: Record<string, unknown> | null) => unpack((tokens as { ids: Packed }).ids);
const spelt = (tokens: Record<string, unknown> | null) => Buffer.from(ids(tokens)).toString();

describe('calls of chat completions', () => {
  test('a call becomes a step with its token ids and log-probabilities, and its observation is what the next call adds', async () => {
    proxy.answer((body) => completion(body.messages?.length === 2 ? 'go north' : 'take lamp', body));
    const opening = [{ role: 'system', content: 'Play.' }, user('A hall.')];
    const first = await chat(opening, { temperature: 0.5, max_tokens: 9 });
    await chat([...opening, assistant('go north'), user('A desk.')]);
    expect(await end({ success: true, observation: 'Taken.', reward: 1 })).toMatchObject({ status: 200 });

    const { steps, runs, trees, rollouts, rewards, prompts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(runs).toMatchObject([{ name: 'run', kind: 'external' }]);
    expect(trees).toMatchObject([{ alias: 'task', instruction: 'Play.', environment: 'captured' }]);
    expect(steps).toMatchObject([
      { depth: 0, observation: 'A hall.' },
      { depth: 1, response: 'go north', observation: 'A desk.', termination: 'none', finishReason: 'stop' },
      { depth: 2, response: 'take lamp', observation: 'Taken.', termination: 'terminated' },
    ]);
    expect(steps.slice(1).map(({ tokens }) => spelt(tokens))).toEqual(['go north', 'take lamp']);
    const { logProbs: packed } = { ...steps[1]?.tokens } as { logProbs?: Packed };
    const logProbs = packed && unpack(packed);
    expect(logProbs).toEqual([...Buffer.from('go north')].map((byte) => -byte / 256));
    expect(rollouts).toMatchObject([
      { ordinal: 0, outcome: 'terminated', success: true, steps: 2, leafStepId: steps[2]?.stepId },
    ]);
    expect(rewards).toEqual([{ stepId: null, rolloutId: rollouts[0]?.rolloutId, component: 'environment', value: 1 }]);
    const shown = prompts.get(steps[2]?.stepId ?? '');
    expect(shown?.messages.map(({ role, parts }) => [role, parts])).toEqual(
      [
        ['system', 'Play.'],
        ['user', 'A hall.'],
        ['assistant', 'go north'],
        ['user', 'A desk.'],
      ].map(([role, text]) => [role, [{ kind: 'text', text }]]),
    );
    expect(shown).toMatchObject({ model: 'served', sampling: { temperature: 1, maxTokens: null } });
    expect(Buffer.from(shown?.tokenIds ?? []).toString()).toBe(
      JSON.stringify([...opening, assistant('go north'), user('A desk.')]),
    );
    expect(prompts.get(steps[1]?.stepId ?? '')).toMatchObject({
      sampling: { temperature: 0.5, maxTokens: 9 },
      server: proxy.upstream.url,
    });

    expect(first.json()).toMatchObject({
      choices: [{ message: assistant('go north'), logprobs: null }],
      usage: { completion_tokens: 8 },
    });
    expect(first.text).not.toMatch(/token_id|prompt_token_ids/);
    expect(proxy.upstream.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer sk-of-upstream' },
      body: { logprobs: true, return_token_ids: true, messages: opening },
    });
  });

  test('what an agent asks for itself stays in its answer', async () => {
    proxy.answer((body) => completion('a', body));
    const { text } = await chat([user('q')], { logprobs: true });
    expect(text).toContain('token_id:97');
    expect(proxy.upstream.requests[0]?.body).not.toHaveProperty('return_tokens_as_token_ids');
  });

  test('a stream is passed on part by part, without what was asked for besides, and recorded whole', async () => {
    let more: (() => void) | undefined;
    const open = new Promise<void>((resolve) => {
      more = resolve;
    });
    proxy.answer(async (body, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"id":"s","choices":[{"index":0,"delta":{"content":"early "},"finish_reason":null}]}\n\n');
      await open;
      streamedRest(body, res);
    });
    const response = await fetch(`${url}/v1/proxy/run/task/0/chat/completions`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ model: 'served', messages: [user('q')], stream: true }),
    });
    const reader = response.body?.getReader();
    const part = await reader?.read();
    expect(Buffer.from(part?.value ?? []).toString()).toContain('early '); // before the model server goes on
    more?.();
    let rest = '';
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read())
      rest += Buffer.from(read.value).toString();
    expect(rest).toMatch(/"content":"late"[\s\S]*data: \[DONE\]\n\n$/);
    expect(rest).not.toMatch(/token_id|"usage"/);
    await end();
    const { steps, calls } = await proxy.recorded();
    expect(steps[1]).toMatchObject({ response: 'early late', completionTokens: 2 });
    expect(spelt(steps[1]?.tokens ?? null)).toBe('xy');
    expect(calls).toMatchObject([{ outcome: 'answered', timings: { firstMs: expect.any(Number) } }]);
  });

  test('calls of tools and their results are recorded with the schemas that were shown', async () => {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const toolCalls = [{ id: 'call-1', type: 'function', function: { name: 'weather', arguments: '{"city": "Ulm"}' } }];
    proxy.answer((body) =>
      body.messages?.length === 1 ? completion('', body, { content: null, tool_calls: toolCalls }) : completion('Rain.', body),
    );
    await chat([user('Weather?')], { tools });
    const result = { role: 'tool', tool_call_id: 'call-1', content: 'rain' };
    await chat([user('Weather?'), { role: 'assistant', content: null, tool_calls: toolCalls }, result], { tools });
    await end();
    const { steps, tools: called, prompts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(called).toEqual([{ tool: 'weather', arguments: '{"city": "Ulm"}', output: 'rain', stepId: steps[1]?.stepId }]);
    expect(steps.slice(1)).toMatchObject([
      {
        response: '{"tool_calls":[{"id":"call-1","name":"weather","arguments":"{\\"city\\": \\"Ulm\\"}"}]}',
        observation: 'rain',
      },
      { response: 'Rain.', depth: 2 },
    ]);
    expect(prompts.get(steps[2]?.stepId ?? '')?.tools).toBe(JSON.stringify(tools));
  });

  test('the conversation of a sub-agent lies next to the path, in its own order', async () => {
    const call = [{ id: 'c', type: 'function', function: { name: 'ask', arguments: '{}' } }];
    proxy.answer((body) => {
      if (body.messages?.[0]?.content === 'sub') return completion(body.messages.length > 1 ? 'sub done' : 'sub first', body);
      return body.messages?.length === 1
        ? completion('', body, { content: null, tool_calls: call })
        : completion('main done', body);
    });
    await chat([user('main')]);
    await chat([user('sub')]);
    await chat([user('sub'), assistant('sub first'), user('more')]);
    await chat([
      user('main'),
      { role: 'assistant', content: null, tool_calls: call },
      { role: 'tool', tool_call_id: 'c', content: 'sub done' },
    ]);
    await end({ success: true });
    const { steps, rollouts, calls, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    const [root] = steps;
    const of = (response: string) => steps.find((step) => step.response.startsWith(response));
    expect(calls.map(({ place, ordinal }) => [ordinal, place])).toEqual([
      [0, 'path'],
      [1, 'branch'],
      [2, 'branch'],
      [3, 'path'],
    ]);
    expect(of('sub first')).toMatchObject({ parentStepId: root?.stepId, rolloutId: null, observation: 'more' });
    expect(of('sub done')).toMatchObject({ parentStepId: of('sub first')?.stepId, rolloutId: null });
    expect(of('main done')).toMatchObject({
      parentStepId: of('{"tool_calls"')?.stepId,
      rolloutId: rollouts[0]?.rolloutId,
      depth: 2,
    });
    expect(rollouts).toMatchObject([{ steps: 2, leafStepId: of('main done')?.stepId }]);
  });

  test('an agent that writes each prompt from the start goes on along the path, and one that hands over keeps its conversation', async () => {
    proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
    await chat([user('first prompt')]);
    await chat([user('second prompt')]);
    await chat([{ role: 'system', content: 'other agent' }, user('second prompt'), assistant('reply 1'), user('go on')]);
    await end();
    const { steps, rollouts } = await proxy.recorded();
    expect(steps.map(({ depth, observation }) => [depth, observation])).toEqual([
      [0, 'first prompt'],
      [1, 'second prompt'],
      [2, 'go on'],
      [3, ''],
    ]);
    expect(rollouts).toMatchObject([{ steps: 3 }]);
  });

  test('the reply that is continued becomes the step of the path, the other replies to the conversation lie next to it', async () => {
    let asked = 0;
    proxy.answer((body) => completion(`reply ${++asked}`, body));
    await Promise.all([chat([user('q')]), chat([user('q')])]);
    await chat([user('q'), assistant('reply 1'), user('on')]);
    await end();
    const { steps, rollouts } = await proxy.recorded();
    const of = (response: string) => steps.find((step) => step.response === response);
    expect(of('reply 1')).toMatchObject({ depth: 1, rolloutId: rollouts[0]?.rolloutId });
    expect(of('reply 2')).toMatchObject({ depth: 1, rolloutId: null });
    expect(of('reply 3')).toMatchObject({ depth: 2, parentStepId: of('reply 1')?.stepId });
  });
});

test('the responses protocol is recorded too, whole and streamed, continued by its items or by the id of a response', async () => {
  const response = (text: string) => ({
    ...{
      id: `resp-${text}`,
      object: 'response',
      status: 'completed',
      model: 'served',
      usage: { input_tokens: 5, output_tokens: 2 },
    },
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  });
  proxy.answer((body, res) => {
    if (!body.stream) return response(body.previous_response_id === undefined ? 'one' : 'two');
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"three"}\n\n`);
    res.end(
      `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: response('three') })}\n\n`,
    );
    return undefined;
  });
  const respond = (body: object) => post('/run/task/0/responses', { model: 'served', ...body });
  await respond({ input: 'q', instructions: 'Be brief.' });
  await respond({ input: [user('go on')], previous_response_id: 'resp-one' });
  const streamedText = (await respond({ input: [user('go on'), response('two').output[0], user('last')], stream: true })).text;
  expect(streamedText).toMatch(/"delta":"three"[\s\S]*response.completed/);
  await end();
  const { steps, trees, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(trees).toMatchObject([{ instruction: 'Be brief.' }]);
  expect(steps.map(({ response: said, observation }) => [said, observation])).toEqual([
    ['', 'q'],
    ['one', 'go on'],
    ['two', 'last'],
    ['three', ''],
  ]);
});

describe('a model server that fails', () => {
  test('its refusal is passed on as it is, and recorded as a failed call', async () => {
    const refusal = '{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}';
    proxy.answer((_, res) => void res.writeHead(404, { 'content-type': 'application/json' }).end(refusal));
    const answer = await chat([user('q')]);
    expect([answer.status, answer.text]).toEqual([404, refusal]);
    const { calls, steps } = await proxy.recorded();
    expect(calls).toMatchObject([{ outcome: 'failed', status: 404, message: 'no such model', stepId: null, choices: [] }]);
    expect(steps).toHaveLength(1);
  });

  test('one that refuses token ids is asked without them, and not for them again', async () => {
    proxy.answer((body, res) => {
      if (!('return_token_ids' in body || 'logprobs' in body)) return completion('plain', body);
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"unknown field"}}');
      return undefined;
    });
    expect(await chat([user('q')])).toMatchObject({ status: 200 });
    expect(await chat([user('q'), assistant('plain'), user('on')])).toMatchObject({ status: 200 });
    expect(proxy.upstream.requests.map(({ body }) => 'logprobs' in body)).toEqual([true, true, false, false]);
    const { calls } = await proxy.recorded();
    expect(calls).toMatchObject([{ call: { attempts: 3 } }, { call: { attempts: 1 } }]);
  });

  test('one that is silent is given up after its time, and the call is recorded', async () => {
    const base = await proxy.restart({ timeoutMs: 300 });
    proxy.answer(() => new Promise(() => undefined));
    expect(await post('/run/task/0/chat/completions', { messages: [user('q')] }, { base })).toMatchObject({ status: 504 });
    const { calls } = await proxy.recorded();
    expect(calls).toMatchObject([{ outcome: 'failed', message: 'the model server was silent for 300 ms' }]);
  });

  test('a stream that breaks off or holds no JSON is passed on and recorded as failed, with the part that arrived', async () => {
    proxy.answer((body, res) => {
      if (JSON.stringify(body.messages).includes('torn')) {
        streamed('half', body, res, { ends: false });
        setImmediate(() => res.destroy());
        return undefined;
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(
        'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: <html>\n\ndata: [DONE]\n\n',
      );
      return undefined;
    });
    await expect(chat([user('torn')], { stream: true })).rejects.toThrow();
    const odd = await chat([user('odd')], { stream: true });
    expect(odd.text).toContain('data: <html>');
    await until(async () => (await proxy.recorded()).calls.length === 2);
    const { calls } = await proxy.recorded();
    expect(calls).toMatchObject([
      { outcome: 'failed', stepId: null, choices: [{ message: expect.stringContaining('"role":"assistant"') }] },
      { outcome: 'failed', message: expect.stringContaining('is no JSON object: "<html>"') },
    ]);
  });

  test('an agent that goes away ends the call of the model server, which is recorded as cancelled', async () => {
    proxy.answer((body, res) => streamed('on and on', body, res, { ends: false }));
    const controller = new AbortController();
    const response = await fetch(`${url}/v1/proxy/run/task/0/chat/completions`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, signal: controller.signal },
      body: JSON.stringify({ messages: [user('q')], stream: true }),
    });
    await response.body?.getReader().read();
    controller.abort();
    await until(() => proxy.upstream.cut() === 1);
    await until(async () => (await proxy.recorded()).calls.length === 1);
    expect((await proxy.recorded()).calls).toMatchObject([{ outcome: 'cancelled', stepId: null }]);
    const whole = new AbortController();
    proxy.answer(() => new Promise(() => undefined));
    const waiting = post('/run/task/1/chat/completions', { messages: [user('q')] }, { signal: whole.signal });
    await until(() => proxy.upstream.requests.length === 2);
    whole.abort();
    await expect(waiting).rejects.toThrow();
    await until(() => proxy.upstream.cut() === 2);
  });
});

describe('rewards and ends', () => {
  test('they are recorded once however often they are sent, and another value or end is refused', async () => {
    proxy.answer((body) => completion('a', body));
    expect(await end()).toMatchObject({ status: 404 });
    await chat([user('q')]);
    const give = (body: object) => post('/run/task/0/reward', body);
    expect(await give({ value: 1, of: 'step' })).toMatchObject({ status: 409 });
    expect((await give({ value: 0.5, of: 'step', observation: 'seen' })).json()).toMatchObject({ appended: true });
    expect((await give({ value: 0.5, of: 'step', observation: 'seen' })).json()).toMatchObject({ appended: false });
    expect((await give({ value: 2, component: 'style' })).json()).toMatchObject({ appended: true });
    expect(await give({ value: 3, component: 'style' })).toMatchObject({ status: 409 });
    expect((await end({ outcome: 'truncated' })).json()).toMatchObject({ appended: true });
    expect((await end({ outcome: 'truncated' })).json()).toMatchObject({ appended: false });
    expect(await end({ outcome: 'failed' })).toMatchObject({ status: 409 });
    expect(await chat([user('q'), assistant('a'), user('on')])).toMatchObject({ status: 409 });
    const { steps, rewards, rollouts } = await proxy.recorded();
    expect(steps[1]).toMatchObject({ observation: 'seen' });
    expect(rewards).toHaveLength(2);
    expect(rewards).toContainEqual(expect.objectContaining({ stepId: steps[1]?.stepId, value: 0.5 }));
    expect(rollouts).toMatchObject([{ outcome: 'truncated', success: null, steps: 1 }]);
  });

  test('a server that was restarted goes on from the record', async () => {
    proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
    await chat([user('q')]);
    const base = await proxy.restart();
    await post('/run/task/0/chat/completions', { messages: [user('q'), assistant('reply 1'), user('on')] }, { base });
    await post('/run/task/0/end', {}, { base: await proxy.restart() });
    const { steps, rollouts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(steps.map(({ response, observation }) => [response, observation])).toEqual([
      ['', 'q'],
      ['reply 1', 'on'],
      ['reply 3', ''],
    ]);
    expect(steps.slice(1).map(({ tokens }) => spelt(tokens))).toEqual(['reply 1', 'reply 3']);
    expect(rollouts).toMatchObject([{ steps: 2, outcome: 'terminated' }]);
  });

  test('rollouts of one task that begin at once are one group with an ordinal each', async () => {
    proxy.answer((body) => completion('a', body));
    await Promise.all(['0', 'one', 'two'].map((name) => chat([user('q')], {}, `/run/task/${name}`)));
    const headers = {
      'x-espalier-run': 'run',
      'x-espalier-task': 'task',
      'x-espalier-rollout': '7',
      'x-espalier-policy': 'mine@3',
    };
    await post('/chat/completions', { messages: [user('q')] }, { headers });
    const { rollouts, trees, runs, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect([runs.length, trees.length]).toEqual([1, 1]);
    expect(new Set(rollouts.map(({ ordinal }) => ordinal)).size).toBe(4);
    expect(rollouts.find(({ ordinal }) => ordinal === 7)).toMatchObject({ policyId: 'mine', policyVersion: 3 });
  });
});

describe('who may', () => {
  const bearer = async (project: string, scopes: readonly ('ingest' | 'read')[] = ['ingest']) => ({
    authorization: `Bearer ${(await createKey(proxy.api.database.db, { name: project, scopes, projects: [project] })).key}`,
  });

  test('a run of another project is taken, the same name in two projects is two runs, and a key needs the scope ingest', async () => {
    proxy.answer((body) => completion('a', body));
    const [mine, theirs] = [await bearer('mine'), await bearer('theirs')];
    const body = { messages: [user('q')] };
    const id = '0b6f1c2e-7d3a-4f5b-8c9d-0a1b2c3d4e5f';
    expect(await post(`/${id}/task/0/chat/completions`, body, { headers: theirs })).toMatchObject({ status: 200 });
    const refused = await post(`/${id}/task/0/chat/completions`, body, { headers: mine });
    expect([refused.status, refused.json().error.message]).toEqual([403, `the id ${id} is taken`]);
    expect(await post(`/${id}/task/0/end`, {}, { headers: mine })).toMatchObject({ status: 403 });
    expect(await post('/run/task/0/chat/completions', body, { headers: theirs })).toMatchObject({ status: 200 });
    expect(await post('/run/task/0/chat/completions', body, { headers: mine })).toMatchObject({ status: 200 });
    expect(await post('/run/task/0/chat/completions', body, { headers: await bearer('mine', ['read']) })).toMatchObject({
      status: 403,
    });
    expect((await proxy.recorded()).runs).toHaveLength(3);
    expect(proxy.upstream.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer sk-of-upstream'));
  });

  test('a tree of another run that is named by its id is not gone on with', async () => {
    proxy.answer((body) => completion('a', body));
    await chat([user('q')]);
    const [tree] = (await proxy.recorded()).trees;
    await chat([user('q')], {}, `/other/${tree?.treeId}/0`);
    expect((await proxy.recorded()).trees).toHaveLength(2);
  });

  test('names, bodies and headers that do not fit are refused before anything is asked', async () => {
    expect(await post('/chat/completions', { messages: [] })).toMatchObject({ status: 400 });
    expect((await post('/chat/completions', { messages: [] })).json().error.message).toBe('the request names no run');
    expect(await post(`/${'x'.repeat(201)}/t/0/chat/completions`, { messages: [] })).toMatchObject({ status: 400 });
    expect(
      await post('/run/task/0/chat/completions', { messages: [] }, { headers: { 'x-espalier-policy': 'mine' } }),
    ).toMatchObject({ status: 400 });
    expect(await post('/run/task/0/reward', { value: 'much' })).toMatchObject({ status: 400 });
    expect(await post('/run/task/0/chat/completions', { stream: 'x'.repeat(40_000_000) })).toMatchObject({ status: 413 });
    expect(proxy.upstream.requests).toEqual([]);
  });
});

test('a call whose record cannot be appended fails before the model is asked, or is passed on and says so', async () => {
  proxy.answer((body) => completion('a', body));
  const { log } = proxy.api;
  const broken = { ...log, append: async () => Promise.reject(new Error('the disk is full')), ends: log.ends.bind(log) };
  const failing = await post(
    '/run/task/0/chat/completions',
    { messages: [user('q')] },
    { base: await proxy.restart({ log: broken }) },
  );
  expect([failing.status, failing.json().error.message]).toEqual([503, 'the record could not be appended to: the disk is full']);
  expect(proxy.upstream.requests).toEqual([]);
  const passing = await post(
    ...([
      '/run/task/0/chat/completions',
      { messages: [user('q')] },
      { base: await proxy.restart({ log: broken, whenUnrecorded: 'pass' }) },
    ] as const),
  );
  expect([passing.status, passing.headers.get('x-espalier-unrecorded')]).toEqual([
    200,
    'the record could not be appended to: the disk is full',
  ]);
  expect(passing.json().choices[0]?.message.content).toBe('a');
});

test('the models of the model server are listed, and a server without one says so', async () => {
  proxy.answer(() => ({ object: 'list', data: [{ id: 'served' }] }));
  for (const path of ['/models', '/run/task/0/models'])
    expect(await (await fetch(`${url}/v1/proxy${path}`)).json()).toEqual({ object: 'list', data: [{ id: 'served' }] });
});

function streamedRest(body: { readonly [field: string]: unknown }, res: Parameters<typeof streamed>[2]): void {
  const part = (choice: object) => res.write(`data: ${JSON.stringify({ id: 's', choices: [choice] })}\n\n`);
  const logprobs = { content: [120, 121].map((id) => ({ token: `token_id:${id}`, logprob: -1 })) };
  part({ index: 0, delta: { content: 'late' }, finish_reason: null, logprobs, token_ids: [120, 121] });
  part({ index: 0, delta: {}, finish_reason: 'stop' });
  if (body.stream_options) res.write('data: {"id":"s","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n');
  res.end('data: [DONE]\n\n');
}
