import { describe, expect, test } from '@jest/globals';
import { createLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { until } from '../../testing/until.ts';
import { completion, streamed } from '../../testing/upstream.ts';
import { assistant, proxyForTests, user } from './proxy-testing.ts';

const { proxy, post, chat } = proxyForTests();

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

  test.each([400, 403, 422])('one that refuses token ids by %i is asked without them, and not for them again', async (status) => {
    proxy.answer((body, res) => {
      if (!('return_token_ids' in body || 'logprobs' in body)) return completion('plain', body);
      res.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"unknown field"}}');
      return undefined;
    });
    expect(await chat([user('q')])).toMatchObject({ status: 200 });
    expect(await chat([user('q'), assistant('plain'), user('on')])).toMatchObject({ status: 200 });
    expect(proxy.upstream.requests.map(({ body }) => 'logprobs' in body)).toEqual([true, true, false, false]);
    const { calls } = await proxy.recorded();
    expect(calls).toMatchObject([{ call: { attempts: 3 } }, { call: { attempts: 1 } }]);
  });

  test('one that refuses them by 403 once is asked for them again after a minute', async () => {
    let now = 0;
    const base = await proxy.restart({ clock: () => now });
    proxy.answer((body, res) => {
      if (proxy.upstream.requests.length > 1) return completion('a', body);
      res.writeHead(403, { 'content-type': 'application/json' }).end('{"error":{"message":"over quota"}}');
      return undefined;
    });
    const ask = (rollout: number) => post(`/run/task/${rollout}/chat/completions`, { messages: [user('q')] }, { base });
    expect(await ask(0)).toMatchObject({ status: 200 });
    now = 59_000;
    await ask(1);
    now = 61_000;
    await ask(2);
    const asked = proxy.upstream.requests.map(({ body }) => 'return_token_ids' in body);
    expect(asked).toEqual([true, false, false, true]);
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

  test('a stream that ends without a finish reason is a step, and a reply of which nothing can be read is a loss unless the same is asked again', async () => {
    proxy.answer((body, res) => {
      if (proxy.upstream.requests.length % 3 === 2) return { choices: [{ index: 0, message: null, finish_reason: 'stop' }] };
      if (!body.stream) return completion('came', body);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end('data: {"choices":[{"index":0,"delta":{"content":"went"}}]}\n\ndata: [DONE]\n\n');
      return undefined;
    });
    for (const place of ['/run/task/0', '/run/task/1']) {
      await chat([user('q')], { stream: true }, place);
      for (let i = 0; i < 2; i++) await chat([user('q'), assistant('went'), user('r')], {}, place);
    }
    await chat([user('lost')], { stream: true }, '/run/task/2');
    await chat([user('lost'), assistant('went'), user('r')], {}, '/run/task/2'); // which nobody asks again
    await post('/run/task/0/end', {});
    await post('/run/task/1/end', {}, { base: await proxy.restart() });
    await post('/run/task/2/end', {}, { base: await proxy.restart() });
    const { calls, steps, rollouts } = await proxy.recorded();
    const once = [
      ['answered', ''],
      ['failed', expect.stringContaining('choices.0.message Invalid input')],
      ['answered', ''],
    ];
    expect(calls.map(({ outcome, message }) => [outcome, message])).toEqual([...once, ...once, ...once.slice(0, 2)]);
    expect(JSON.parse(String(calls[1]?.attributes)).losses).toEqual([expect.stringContaining('choices.0.message Invalid input')]);
    expect(steps[1]).toMatchObject({ response: 'went', finishReason: null });
    expect(rollouts).toMatchObject([...Array(2).fill({ steps: 2, unclearCalls: 0, lostParts: 0 }), { steps: 1, lostParts: 1 }]);
  });

  test('what an agent has of a reply when it stops to read is a step where its next call shows it, also after a restart, and else none', async () => {
    proxy.answer((body, res) => streamed('Thought.', body, res, { ends: false }));
    for (const rollout of [0, 1]) {
      const controller = new AbortController();
      const response = await fetch(`${proxy.url}/v1/proxy/run/task/${rollout}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        signal: controller.signal,
        body: JSON.stringify({ messages: [user('q')], stream: true }),
      });
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (/"\."/.test(text)) break;
      }
      controller.abort();
      await until(() => proxy.upstream.cut() === rollout + 1);
      await until(async () => (await proxy.recorded()).calls.length === rollout + 1);
    }
    const base = await proxy.restart();
    proxy.answer((body) => completion('done', body));
    const messages = [user('q'), { role: 'assistant', content: 'Thought.' }, user('Observation.')];
    await post('/run/task/0/chat/completions', { messages }, { base });
    for (const rollout of [0, 1]) await post(`/run/task/${rollout}/end`, {}, { base });
    const { rollouts, steps, prompts, calls } = await proxy.recorded();
    expect(rollouts).toMatchObject([
      { steps: 2, unclearCalls: 0, lostParts: 0 },
      { steps: 0, unclearCalls: 0, lostParts: 0 },
    ]);
    expect(steps.slice(1)).toMatchObject([
      { response: 'Thought.', observation: 'Observation.', finishReason: 'cancelled' },
      { response: 'done', finishReason: 'stop' },
    ]);
    expect(prompts.get(calls[0]?.stepId ?? '')?.messages).toHaveLength(1);
  });

  test('an agent that goes away ends the call of the model server, which is recorded as cancelled', async () => {
    proxy.answer((body, res) => streamed('on and on', body, res, { ends: false }));
    const controller = new AbortController();
    const response = await fetch(`${proxy.url}/v1/proxy/run/task/0/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      signal: controller.signal,
      body: JSON.stringify({ messages: [user('q')], stream: true }),
    });
    await response.body?.getReader().read();
    controller.abort();
    await until(() => proxy.upstream.cut() === 1);
    await until(async () => (await proxy.recorded()).calls.length === 1);
    expect((await proxy.recorded()).calls).toMatchObject([{ outcome: 'cancelled', choices: [{ finishReason: 'cancelled' }] }]);
    const whole = new AbortController();
    proxy.answer(() => new Promise(() => undefined));
    const waiting = post('/run/task/1/chat/completions', { messages: [user('q')] }, { signal: whole.signal });
    await until(() => proxy.upstream.requests.length === 2);
    whole.abort();
    await expect(waiting).rejects.toThrow();
    await until(() => proxy.upstream.cut() === 2);
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

test('calls that are passed on without a record are counted by reason, and the first of each reason is logged', async () => {
  proxy.answer((body) => ('messages' in body ? completion('a', body) : { data: [] }));
  const lines: string[] = [];
  const metrics = createMetrics();
  const logger = createLogger({ form: 'json', write: (line) => lines.push(line) });
  const { log } = proxy.api;
  const broken = { ...log, append: async () => Promise.reject(new Error('the disk is full')), ends: log.ends.bind(log) };
  const base = await proxy.restart({ log: broken, whenUnrecorded: 'pass', logger, serve: { metrics } });
  for (const rollout of [0, 1]) await post(`/run/task/${rollout}/chat/completions`, { messages: [user('q')] }, { base });
  for (const path of ['/embeddings', '/run/task/0/completions', '/embeddings']) await post(path, { input: 'text' }, { base });
  await fetch(`${base}/v1/proxy/models`); // asks no model
  const { body } = await metrics.expose();
  expect(body.split('\n').filter((line) => line.startsWith('espalier_proxy_unrecorded_total'))).toEqual([
    'espalier_proxy_unrecorded_total{reason="not-appended"} 2',
    'espalier_proxy_unrecorded_total{reason="path"} 3',
  ]);
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
  expect(warnings.map(({ reason, detail }) => [reason, detail])).toEqual([
    ['not-appended', 'the record could not be appended to: the disk is full'],
    ['path', '/embeddings'],
  ]);
});

test('a request and a reply are passed on byte for byte but for what is asked besides, and what no double holds is named and counted', async () => {
  const metrics = createMetrics();
  const base = await proxy.restart({ serve: { metrics } });
  const call = '{"id": "c", "function": {"name": "f", "arguments": {"n": 1.0, "id": 9007199254740993}}}';
  const reply = `{"id": "r", "created": 1.0, "choices": [ {"message": {"content": null, "tool_calls": [${call}]}, "finish_reason": "tool_calls"} ]}`;
  proxy.answer((_, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end(reply));
  const messages = '"messages": [ {"role": "user", "content": "\\u00e9"} ], "seed": 12345678901234567890, "top_p": 1.0 }';
  const answer = await fetch(`${base}/v1/proxy/run/task/0/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{ "logprobs": false, ${messages}`,
  });
  expect(await answer.text()).toBe(reply);
  expect(proxy.upstream.requests[0]?.text).toBe(
    `{ "logprobs": true, ${messages.slice(0, -2)},"return_tokens_as_token_ids":true,"return_token_ids":true,"return_meta_info":true }`,
  );
  await post('/run/task/0/end', {}, { base });
  const { calls, tools, steps } = await proxy.recorded();
  expect(steps[1]).toMatchObject({ action: 'f {"n": 1.0, "id": 9007199254740993}' });
  expect(tools).toMatchObject([]);
  expect(JSON.parse(String(calls[0]?.attributes)).losses).toEqual([
    'request: seed is 12345678901234567890, which a reader of JSON takes for 12345678901234567168',
    'request: seed is no whole number that a double holds',
    'reply: choices.0.message.tool_calls.0.function.arguments.id is 9007199254740993, which a reader of JSON takes for 9007199254740992',
  ]);
  expect((await metrics.expose()).body).toContain('espalier_proxy_unrecorded_total{reason="unread"} 1');
});

test('an answer that no record takes is refused for good, or is passed on and says so', async () => {
  proxy.answer((body) => {
    const answer = completion('x'.repeat(60_000), body) as { choices: object[] }; // as a chat server answers; each below what is stored apart
    return { ...answer, choices: Array.from({ length: 40 }, (_, index) => ({ ...answer.choices[0], index, logprobs: null })) };
  });
  const refused = await chat([user('q')]);
  expect([refused.status, refused.json().error]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringContaining('limit'), remedy: expect.stringContaining('shorter replies') }),
  ]);
  const base = await proxy.restart({ whenUnrecorded: 'pass' });
  const passed = await post('/run/task/1/chat/completions', { messages: [user('q')] }, { base });
  expect([passed.status, passed.headers.get('x-espalier-unrecorded')]).toEqual([200, expect.stringContaining('limit')]);
  proxy.answer((body) => completion('short', body));
  expect(await chat([user('q')])).toMatchObject({ status: 200 });
});

test('what is not recorded is passed on as it is, below the address of the model server only', async () => {
  proxy.answer((_, res) => {
    const audio = proxy.upstream.requests.at(-1)?.path.startsWith('/v1/audio');
    res.writeHead(audio ? 200 : 404, { 'content-type': audio ? 'audio/mpeg' : 'application/json', 'x-other': 'dropped' });
    res.end(audio ? Buffer.from([0, 255, 128]) : '{"error":"sk-of-upstream may not"}');
  });
  const send = (method: string, path: string, more: RequestInit = {}) =>
    fetch(`${proxy.url}/v1/proxy${path}`, { method, ...more });
  const audio = await send('POST', '/run/task/0/audio/speech?voice=a%20b', {
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: '--x--',
  });
  expect([...new Uint8Array(await audio.arrayBuffer())]).toEqual([0, 255, 128]);
  expect([audio.headers.get('content-type'), audio.headers.has('x-other'), audio.headers.get('x-espalier-unrecorded')]).toEqual([
    ...['audio/mpeg', false],
    'only chat completions and responses are recorded',
  ]);
  const refused = await send('DELETE', '/files/f%2F1');
  expect([refused.status, await refused.text()]).toEqual([404, expect.not.stringContaining('sk-of-upstream')]);
  expect(proxy.upstream.requests.map(({ method, path, text }) => [method, path, text])).toEqual([
    ['POST', '/v1/audio/speech?voice=a%20b', '--x--'],
    ['DELETE', '/v1/files/f%2F1', ''],
  ]);
  expect(proxy.upstream.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer sk-of-upstream',
    'content-type': 'multipart/form-data; boundary=x',
  });
  const outside = await send('GET', '/run/task/0/%2e%2e%2f%2e%2e/admin');
  expect([outside.status, (await outside.json()).error.message]).toEqual([502, 'the path leads out of the model server']);
  expect(proxy.upstream.requests).toHaveLength(2);
});

test.each([
  '/run/task/0/v1/chat/completions',
  '/run/task/0/chat/completions/',
  '/run/task/0/chat%2Fcompletions',
  '/run/task/0/x%5cresponses',
  '/run/task/chat/completions',
  '/v1/responses',
])('a call that would be recorded at its own address is refused at %s', async (path) => {
  proxy.answer((body) => completion('a', body));
  const { status, json } = await post(path, { model: 'served', messages: [user('q')], input: 'q' });
  expect([status, json().error.remedy]).toEqual([404, expect.stringContaining('/v1/proxy/RUN/TASK/ROLLOUT/')]);
  expect(proxy.upstream.requests).toEqual([]);
});

test.each([
  ['DELETE', '/models/served'],
  ['POST', '/load_lora_adapter'],
  ['POST', '/run/task/0/reset_prefix_cache'],
  ['POST', '/run/task/0/embeddings%2f..%2fload_lora_adapter'],
  ['GET', '/run/task/0/embeddings%5c..%5cmetrics'],
  ['GET', '/modelsextra'],
])('what administers a model server is not passed on: %s %s', async (method, path) => {
  const response = await fetch(`${proxy.url}/v1/proxy${path}`, { method });
  const { error } = (await response.json()) as { error: { message: string; remedy: string } };
  if (path.includes('..')) expect([response.status, error.message]).toEqual([502, 'the path leads out of the model server']);
  else expect([response.status, error.remedy]).toEqual([403, expect.stringContaining('ESPALIER_PROXY_PATHS')]);
  expect(proxy.upstream.requests).toEqual([]);
});

test('a setting names which paths are passed on, by method, with what is below them', async () => {
  proxy.answer(() => ({}));
  const statuses = async (paths: readonly string[], requests: readonly (readonly [string, string])[]) => {
    const base = await proxy.restart({ paths });
    const send = ([method, path]: readonly [string, string]) => fetch(`${base}/v1/proxy${path}`, { method });
    return Promise.all(requests.map(async (request) => (await send(request)).status));
  };
  const requests = [
    ['POST', '/load_lora_adapter'],
    ['GET', '/load_lora_adapter/x'],
    ['POST', '/embeddings'],
  ] as const;
  expect(await statuses(['POST load_lora_adapter'], requests)).toEqual([200, 403, 403]);
  expect(await statuses(['load_lora_adapter', 'embeddings'], requests)).toEqual([200, 200, 200]);
  expect(await statuses(['*'], requests)).toEqual([200, 200, 200]);
});

test('requests without a body that are passed on at once are bounded as those with one', async () => {
  proxy.answer(() => new Promise(() => undefined));
  const leaving = new AbortController();
  const waiting = Array.from({ length: 256 }, () => fetch(`${proxy.url}/v1/proxy/models`, { signal: leaving.signal }));
  await until(() => proxy.upstream.requests.length === 256);
  const over = await fetch(`${proxy.url}/v1/proxy/models`);
  expect([over.status, over.headers.get('retry-after')]).toEqual([429, '1']);
  leaving.abort();
  await Promise.allSettled(waiting);
  proxy.answer(() => ({ data: [] }));
  await until(async () => (await fetch(`${proxy.url}/v1/proxy/models`)).status === 200);
});

test('the models of the model server are listed, and embeddings and legacy completions are answered', async () => {
  proxy.answer((body) => ({ object: 'list', data: [{ id: 'served' }], body }));
  for (const path of ['/models', '/run/task/0/models'])
    expect(await (await fetch(`${proxy.url}/v1/proxy${path}`)).json()).toMatchObject({ data: [{ id: 'served' }] });
  for (const path of ['/embeddings', '/run/task/0/completions'])
    expect(JSON.parse((await post(path, { model: 'e', input: 'text' })).text)).toMatchObject({
      body: { model: 'e', input: 'text' },
    });
  expect((await proxy.recorded()).calls).toEqual([]);
});

test('a reply that is longer than the proxy takes ends the call, whole and streamed, and is recorded as failed', async () => {
  const base = await proxy.restart({ replyBytes: 2_000 });
  proxy.answer(async (body, res) => {
    if (!body.stream) return completion('x'.repeat(3_000), body);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: {"choices":[{"index":0,"delta":{"content":"early"},"finish_reason":null}]}\n\n');
    await new Promise((resolve) => setTimeout(resolve, 100));
    res.end(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(3_000)}"},"finish_reason":"stop"}]}\n\n`);
    return undefined;
  });
  const whole = await post('/run/task/0/chat/completions', { messages: [user('q')] }, { base });
  expect([whole.status, whole.json().error.message]).toEqual([502, 'the reply is longer than 2000 bytes']);
  // behind the first part the connection is cut: what the program has is not all
  await expect(post('/run/task/1/chat/completions', { messages: [user('q')], stream: true }, { base })).rejects.toThrow();
  proxy.answer((_, res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`: ${'x'.repeat(3_000)}\n\n`));
  const before = await post('/run/task/2/chat/completions', { messages: [user('q')], stream: true }, { base });
  expect([before.status, before.json().error.message]).toEqual([502, 'the reply is longer than 2000 bytes']);
  await until(async () => (await proxy.recorded()).calls.length === 3);
  for (const call of (await proxy.recorded()).calls)
    expect(call).toMatchObject({ outcome: 'failed', message: 'the reply is longer than 2000 bytes', stepId: null });
  proxy.answer((body) => completion('short', body));
  expect(await post('/run/task/0/chat/completions', { messages: [user('q')] }, { base })).toMatchObject({ status: 200 });
});
