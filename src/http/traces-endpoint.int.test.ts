import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { messageText } from '../domain/prompts/same-message.ts';
import { TOPICS } from '../events/catalogue.ts';
import { formatPosition } from '../log/position.ts';
import { OWN_SCOPE } from '../runtime/tracing.ts';
import { openCapture } from '../usecases/capture/open-capture.ts';
import { decodeRefusal, encodeRequest } from '../usecases/capture/traces/otlp-messages.ts';
import { openTraces, QUIET } from '../usecases/capture/traces/receive-spans.ts';
import { openTestProxy, type TestProxy } from './proxy/proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

const records = () => proxy.api.records();

const TRACE = 'a'.repeat(32);
const anyValue = (value: unknown): object => {
  if (typeof value === 'number') return { intValue: String(value) };
  if (typeof value === 'string') return { stringValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: attributes(value as object) } };
};
function attribute([key, value]: [string, unknown]) {
  return { key, value: anyValue(value) };
}
function attributes(given: object) {
  return Object.entries(given).map(attribute);
}
const span = (spanId: string, at: number, given: object, more: object = {}) => ({
  traceId: TRACE,
  spanId: spanId.repeat(16),
  parentSpanId: 'f'.repeat(16),
  name: 'call',
  startTimeUnixNano: `${1_700_000_000_000 + at}000000`,
  endTimeUnixNano: `${1_700_000_000_010 + at}000000`,
  attributes: attributes(given),
  ...more,
});
const request = (spans: readonly object[], resource: object = { 'service.name': 'agent' }) => ({
  resourceSpans: [{ resource: { attributes: attributes(resource) }, scopeSpans: [{ spans }] }],
});
const send = async (body: string | Uint8Array, headers: object = {}, path = '/v1/traces') => {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : Uint8Array.from(body),
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

const inferred = {
  'openinference.span.kind': 'LLM',
  'llm.model_name': 'm',
  'custom.team': 'red',
  'llm.token_count.prompt': 5,
  'llm.input_messages.0.message.role': 'user',
  'llm.input_messages.0.message.content': 'Weather?',
  'llm.output_messages.0.message.role': 'assistant',
  'llm.token_count.completion': 2,
  'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'c',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'weather',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{}',
};
const generated = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'm',
  'gen_ai.input.messages': JSON.stringify([
    { role: 'user', parts: [{ type: 'text', content: 'Weather?' }] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'weather', arguments: {} }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'rain' }] },
  ]),
  'gen_ai.output.messages': JSON.stringify([
    { role: 'assistant', parts: [{ type: 'text', content: 'Rain.' }], finish_reason: 'stop' },
  ]),
};

test('spans of both conventions become one path, out of order in a request, with tools, unknown attributes and what is missing', async () => {
  const root = { ...span('e', 0, { 'openinference.span.kind': 'AGENT' }), parentSpanId: undefined };
  const answer = await send(JSON.stringify(request([root, span('2', 100, generated), span('1', 0, inferred)])));
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text).partialSuccess).toEqual({
    rejectedSpans: '0',
    errorMessage: 'the calls are recorded without prompt token ids, token ids, log-probabilities: they train by text alone',
  });
  expect(await proxy.place()).toEqual([]);
  const { steps, tools, rollouts, calls, runs, trees, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(runs).toMatchObject([{ name: 'agent' }]);
  expect(trees).toMatchObject([{ alias: TRACE }]);
  expect(steps.map(({ depth, observation }) => [depth, observation])).toEqual([
    [0, 'Weather?'],
    [1, 'rain'],
    [2, ''],
  ]);
  expect(steps[2]).toMatchObject({ response: 'Rain.', finishReason: 'stop', termination: 'terminated' });
  expect(tools).toMatchObject([{ tool: 'weather', output: 'rain', stepId: steps[1]?.stepId }]);
  expect(rollouts).toMatchObject([{ outcome: 'terminated', steps: 2, policyId: 'm' }]);
  expect(calls.map(({ source }) => source)).toEqual(['trace', 'trace']);
  expect(JSON.parse(String(calls[0]?.attributes))).toMatchObject({ 'custom.team': 'red', trace: { traceId: TRACE } });
});

test('protobuf, compressed and in several requests, is recorded once however often it is sent', async () => {
  const named = { 'espalier.run': 'run', 'espalier.task': 'task', 'espalier.rollout': '3' };
  const bytes = (given: object) =>
    gzipSync(
      encodeRequest(
        JSON.parse(JSON.stringify(request([given], named)), (key, value) =>
          /^(trace|span|parentSpan)Id$/.test(key) ? Buffer.from(value, 'hex').toString('base64') : value,
        ),
      ),
    );
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' };
  for (const given of [span('1', 0, inferred), span('1', 0, inferred), span('2', 100, generated), span('1', 0, inferred)])
    expect(await send(bytes(given), headers)).toMatchObject({ status: 200, type: 'application/x-protobuf' });
  await proxy.place();
  url = await proxy.restart();
  expect(await send(bytes(span('2', 100, generated)), headers)).toMatchObject({ status: 200, text: '' });
  await proxy.place();
  const { calls, rollouts, runs, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls.map(({ ordinal }) => ordinal)).toEqual([0, 1]);
  expect([runs, rollouts]).toMatchObject([[{ name: 'run' }], [{ ordinal: 3, outcome: null }]]);
});

test('spans of a server’s own work are not recorded, whatever they say', async () => {
  const own = { scope: { name: OWN_SCOPE }, spans: [span('1', 0, inferred)] };
  const sent = { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [own, { spans: [span('2', 1, inferred)] }] }] };
  const before = await records();
  expect((await send(JSON.stringify(sent))).status).toBe(200);
  const first = (await records()) - before;
  const alone = { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [own] }] };
  expect((await send(encodeRequest(alone), { 'content-type': 'application/x-protobuf' })).status).toBe(200);
  expect((await records()) - before).toBe(first);
});

test('what is no request is refused, and spans that cannot be recorded are counted as rejected', async () => {
  expect(await send('{')).toMatchObject({ status: 400 });
  expect(await send('[]')).toMatchObject({ status: 400 });
  expect(await send(Buffer.from('no protobuf'), { 'content-type': 'application/x-protobuf' })).toMatchObject({ status: 400 });
  expect(await send('x', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
  const nameless = span('1', 0, { ...inferred, 'espalier.run': 'x'.repeat(201) });
  const answer = await send(JSON.stringify(request([nameless, { ...span('2', 0, inferred), traceId: 'zz' }])));
  expect(JSON.parse(answer.text).partialSuccess.rejectedSpans).toBe('2');
  expect(await send('{}')).toMatchObject({ status: 200, text: '{}\n' });
});

test('a refusal of protobuf is a Status of protobuf, before the endpoint is reached too', async () => {
  const refused = async (more: object) => {
    const headers = { 'content-type': 'application/x-protobuf', ...more };
    const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body: Buffer.from('no protobuf') });
    const type = response.headers.get('content-type');
    return { status: response.status, type, said: decodeRefusal(Buffer.from(await response.arrayBuffer())) };
  };
  const type = 'application/x-protobuf';
  const message = expect.stringMatching(/^the body is no request of traces: .+; send an ExportTraceServiceRequest of OTLP$/);
  expect(await refused({})).toEqual({ status: 400, type, said: { code: 3, message } });
  const unknown = expect.stringMatching(/^the API key is unknown, expired or revoked; send Authorization: /);
  expect(await refused({ authorization: 'Bearer wrong' })).toEqual({ status: 401, type, said: { code: 16, message: unknown } });
  const encoded = { status: 415, type, said: { code: 3, message: expect.stringContaining('send gzip or none') } };
  expect(await refused({ 'content-encoding': 'br' })).toEqual(encoded);
});

const TOLD = { role: 'user', parts: [{ type: 'text', content: 'Weather?' }] };
const generate = (input: readonly object[], output: readonly object[]) => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'm',
  'gen_ai.input.messages': JSON.stringify(input),
  'gen_ai.output.messages': JSON.stringify(output),
});
const root = { ...span('e', -1, { 'openinference.span.kind': 'AGENT' }), parentSpanId: undefined };
async function recordedOf(spans: readonly object[]) {
  const { text } = await send(JSON.stringify(request([...spans, root])));
  expect(await proxy.place()).toEqual([]);
  const recorded = await proxy.recorded();
  expect(recorded.quarantined).toEqual([]);
  return { ...recorded, message: String(JSON.parse(text).partialSuccess?.errorMessage), path: recorded.steps.slice(1) };
}

test('reasoning, text and calls that the responses protocol has as items of their own are one reply', async () => {
  const item = (of: 'input' | 'output', i: number, more: object) =>
    Object.fromEntries(Object.entries(more).map(([name, value]) => [`llm.${of}_messages.${i}.message.${name}`, value]));
  const reasoning = {
    role: 'assistant',
    'contents.0.message_content.type': 'reasoning',
    'contents.0.message_content.text': 'Hm.',
  };
  const call = (id: string) => ({
    role: 'assistant',
    'tool_calls.0.tool_call.id': id,
    'tool_calls.0.tool_call.function.name': 'weather',
    'tool_calls.0.tool_call.function.arguments': `{"at":"${id}"}`,
  });
  const asked = { 'openinference.span.kind': 'LLM', 'llm.model_name': 'm', ...item('input', 0, { role: 'user', content: 'q' }) };
  const reply = (of: 'input' | 'output', from: number) => ({
    ...item(of, from, reasoning),
    ...item(of, from + 1, call('a')),
    ...item(of, from + 2, call('b')),
  });
  const result = (i: number, id: string) => item('input', i, { role: 'tool', content: `of ${id}`, tool_call_id: id });
  const { path, tools } = await recordedOf([
    span('1', 0, { ...asked, ...reply('output', 0) }),
    span('2', 100, {
      ...{ ...asked, ...reply('input', 1), ...result(4, 'a'), ...result(5, 'b'), 'llm.finish_reason': 'stop' },
      ...item('output', 0, {
        role: 'assistant',
        'contents.0.message_content.type': 'text',
        'contents.0.message_content.text': 'Rain.',
      }),
    }),
  ]);
  expect(path).toMatchObject([
    { thought: 'Hm.', response: '', observation: 'of a\nof b' },
    { response: 'Rain.', finishReason: 'stop' },
  ]);
  expect(tools.map(({ output }) => output)).toEqual(['of a', 'of b']);
});

test('a call that continues a response by its id has the prompt of that before its own; what continues an unknown prompt is unknown, and a loss each', async () => {
  const asked = (i: number, role: string, content: string) => ({
    [`llm.input_messages.${i}.message.role`]: role,
    [`llm.input_messages.${i}.message.content`]: content,
  });
  const responds = (n: number, previous: string, input: object) =>
    span(String(n), 100 * n, {
      ...{ 'openinference.span.kind': 'LLM', 'llm.model_name': 'm', ...input },
      'llm.invocation_parameters': JSON.stringify({ previous_response_id: previous }),
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': `answer ${n}`,
      'output.value': JSON.stringify({ id: `resp-${n}`, object: 'response' }),
    });
  const first = { ...asked(0, 'system', 'Be brief.'), ...asked(1, 'developer', 'Use metres.'), ...asked(2, 'user', 'q') };
  const { path, prompts, calls, rollouts } = await recordedOf([
    responds(1, '', first),
    responds(2, 'resp-1', asked(1, 'user', 'go on')),
    responds(3, 'resp-2', {}),
    responds(4, 'resp-3', asked(1, 'user', 'why')),
    responds(5, 'resp-4', asked(1, 'user', 'more')),
  ]);
  const texts = path.map(({ stepId }) => prompts.get(stepId)?.messages.map((message) => messageText(message)));
  expect(texts).toEqual([
    ['Be brief.', 'Use metres.', 'q'],
    ['Use metres.', 'q', 'answer 1', 'go on'],
    ...Array(3).fill(undefined),
  ]);
  expect(calls.map(({ attributes: of }) => JSON.parse(String(of)).losses?.length)).toEqual([...Array(3).fill(undefined), 1, 1]);
  expect(rollouts).toMatchObject([{ steps: 5, unclearCalls: 0, lostParts: 2 }]);
});

test('reasoning parts are the thought of a reply, each result of a message is its own, and other parts are counted losses', async () => {
  const said = {
    role: 'assistant',
    finish_reason: 'tool_call',
    parts: [
      { type: 'reasoning', content: 'two and two' },
      { type: 'tool_call', id: 'a', name: 'add', arguments: { x: 2 } },
      { type: 'tool_call', id: 'b', name: 'add', arguments: { x: 3 } },
    ],
  };
  const results = ['a', 'b'].map((id) => ({ type: 'tool_call_response', id, response: `of ${id}` }));
  const sound = { role: 'user', parts: [{ type: 'blob_reference', modality: 'audio', file_id: 'f' }] };
  const { path, tools, prompts, message, rollouts } = await recordedOf([
    span('1', 0, generate([TOLD], [said])),
    span('2', 100, generate([TOLD, said, { role: 'tool', parts: results }, sound], [{ role: 'assistant', parts: [] }])),
  ]);
  expect(path[0]).toMatchObject({ thought: 'two and two', finishReason: 'tool_call' });
  expect(tools.map(({ output }) => output)).toEqual(['of a', 'of b']);
  const last = prompts.get(path[1]?.stepId ?? '')?.messages.at(-1);
  expect(last?.parts).toEqual([]);
  expect(message).toContain('messages.4.content.0 is a part of type "blob_reference" (audio), and is not recorded');
  expect(rollouts).toMatchObject([{ lostParts: 1 }]);
});

test('a call that no record takes is a failed one that says why and is counted, and keeps no other of its rollout waiting', async () => {
  const said = (content: string) => [{ role: 'assistant', parts: [{ type: 'text', content }] }];
  const many = { role: 'user', parts: Array(10_001).fill({ type: 'text', content: 'a' }) };
  const called = Array.from({ length: 1_001 }, (_, i) => ({ type: 'tool_call', id: `${i}`, name: 'f', arguments: {} }));
  const { calls, path, rollouts } = await recordedOf([
    span('1', 0, { ...generate([TOLD], said('a')), 'gen_ai.request.model': '../m' }),
    span('2', 100, generate([TOLD, ...said('a'), many], said('b'))),
    span('3', 200, generate([TOLD, ...said('a'), TOLD], [{ role: 'assistant', parts: called }])),
    span('4', 300, generate([TOLD, ...said('a'), TOLD], said('c'))),
  ]);
  expect(calls.map(({ outcome, message }) => [outcome, message])).toEqual([
    ['answered', ''],
    ['failed', expect.stringContaining('PromptShown: data.messages.1.parts')],
    ['failed', expect.stringContaining('StepTaken: data.reply.toolCalls')],
    ['answered', ''],
  ]);
  expect(path.map(({ response }) => response)).toEqual(['a', 'c']);
  // what the third was asked is asked again, and answered
  expect(rollouts).toMatchObject([{ outcome: 'terminated', steps: 2, policyId: 'model', lostParts: 1 }]);
  url = await proxy.restart();
  expect(await proxy.place()).toEqual([]);
});

test('a call whose span took no time is a step where it began, between calls that took some', async () => {
  const one = (i: number, ms: number, more: object[] = []) => ({
    ...span(String(i), 100 * i, generate([TOLD, ...more], [{ role: 'assistant', parts: [{ type: 'text', content: `a${i}` }] }])),
    endTimeUnixNano: `${1_700_000_000_000 + 100 * i + ms}000000`,
  });
  const history = (until: number) =>
    Array.from({ length: until - 1 }, (_, i) => [
      { role: 'assistant', parts: [{ type: 'text', content: `a${i + 1}` }] },
      { role: 'user', parts: [{ type: 'text', content: `q${i + 1}` }] },
    ]).flat();
  const { path, calls } = await recordedOf([one(1, 50), one(2, 0, history(2)), one(3, 50, history(3))]);
  expect(path.map(({ depth, response, observation }) => [depth, response, observation])).toEqual([
    [1, 'a1', 'q1'],
    [2, 'a2', 'q2'],
    [3, 'a3', ''],
  ]);
  expect(calls.map(({ place, outcome }) => [place, outcome])).toEqual(Array(3).fill(['path', 'answered']));
});

test('what a span does not say of its prompt is unknown; what was cut off, and numbers that JSON rounds, are named', async () => {
  const answer = [{ role: 'assistant', parts: [{ type: 'text', content: 'a' }] }];
  const silent = { ...generate([], answer), 'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","cont' };
  const rounded = [{ role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'delete', arguments: 'BIG' }] }];
  const big = JSON.stringify(rounded).replace('"BIG"', '{"id":1234567890123456789}');
  const { path, prompts, calls, message } = await recordedOf([
    span('1', 0, silent, { traceId: TRACE }),
    span('2', 100, { ...generate([TOLD], []), 'gen_ai.output.messages': big }),
  ]);
  expect(message).toContain('gen_ai.input.messages is no JSON, as if it had been cut off');
  expect(message).toMatch(/gen_ai\.output\.messages: 0\.parts\.0\.arguments\.id /);
  expect(message).toContain('2 of 2 calls lose of their messages');
  expect(calls.map(({ attributes: of }) => JSON.parse(String(of)).losses)).toEqual([[expect.any(String)], [expect.any(String)]]);
  const unknown = path.find(({ response }) => response === 'a');
  expect([unknown, prompts.get(unknown?.stepId ?? '')]).toEqual([expect.anything(), undefined]);
});

test('spans of the AI SDK of Vercel become steps with their calls of tools', async () => {
  const vercel = (prompt: readonly object[], more: object) => ({
    'operation.name': 'ai.generateText.doGenerate',
    'ai.operationId': 'ai.generateText.doGenerate',
    'gen_ai.request.model': 'm',
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'ai.prompt.tools': [JSON.stringify({ type: 'function', name: 'weather', inputSchema: {} })],
    'ai.prompt.messages': JSON.stringify(prompt),
    ...more,
  });
  const asked = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
  ];
  const call = { toolCallId: 'c', toolName: 'weather', input: { at: 'Oslo' } };
  const result = { toolCallId: 'c', toolName: 'weather', output: { type: 'text', value: '5 C' } };
  const history = [
    ...asked,
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'tool-call', ...call },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-result', ...result }] },
  ];
  const { path, tools } = await recordedOf([
    span('1', 0, vercel(asked, { 'ai.response.reasoning': 'Hm.', 'ai.response.toolCalls': JSON.stringify([call]) })),
    span('3', 20, {
      'operation.name': 'ai.toolCall',
      'ai.toolCall.name': 'weather',
      'ai.toolCall.id': 'c',
      'ai.toolCall.result': '"5 C"',
    }),
    span('2', 100, vercel(history, { 'ai.response.text': '5 C.' })),
  ]);
  expect(path).toMatchObject([{ thought: 'Hm.', observation: '5 C', finishReason: 'tool-calls' }, { response: '5 C.' }]);
  expect(tools).toMatchObject([{ tool: 'weather', arguments: '{"at":"Oslo"}', output: '5 C', durationMs: 10 }]);
});

test('messages in log records, as the official instrumentation of OpenAI writes them, belong to their spans, before or after these', async () => {
  const log = (spanId: string, at: number, eventName: string, body: object) => ({
    traceId: TRACE,
    spanId: spanId.repeat(16),
    timeUnixNano: `${1_700_000_000_000 + at}000000`,
    eventName,
    body: anyValue(body),
    attributes: attributes({ 'gen_ai.system': 'openai' }),
  });
  const calls = [{ id: 'c', type: 'function', function: { name: 'weather', arguments: '{}' } }];
  const logs = (records: readonly object[]) => ({
    resourceLogs: [{ resource: { attributes: attributes({ 'service.name': 'agent' }) }, scopeLogs: [{ logRecords: records }] }],
  });
  const first = [
    log('1', 1, 'gen_ai.user.message', { content: 'Weather?' }),
    log('1', 2, 'gen_ai.choice', { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: calls } }),
    { ...log('1', 3, 'http.request', {}), spanId: undefined },
  ];
  const second = [
    log('2', 101, 'gen_ai.user.message', { content: 'Weather?' }),
    log('2', 102, 'gen_ai.assistant.message', { tool_calls: calls }),
    log('2', 103, 'gen_ai.tool.message', { id: 'c', content: 'rain' }),
    log('2', 104, 'gen_ai.choice', { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Rain.' } }),
  ];
  const given = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };
  expect(await send(JSON.stringify(logs(first)), {}, '/v1/logs')).toMatchObject({ status: 200, text: '{}\n' });
  const bytes = encodeRequest(
    JSON.parse(JSON.stringify(logs(second)), (key, value) =>
      /^(trace|span)Id$/.test(key) ? Buffer.from(value, 'hex').toString('base64') : value,
    ),
    'logs',
  );
  await send(JSON.stringify(request([span('1', 0, given), span('2', 100, given)])));
  for (const _ of [1, 2])
    expect(await send(bytes, { 'content-type': 'application/x-protobuf' }, '/v1/logs')).toMatchObject({ status: 200 });
  const { path, tools, prompts } = await recordedOf([]);
  expect(path).toMatchObject([
    { depth: 1, finishReason: 'tool_calls', observation: 'rain' },
    { depth: 2, response: 'Rain.', finishReason: 'stop' },
  ]);
  expect(tools).toMatchObject([{ tool: 'weather', output: 'rain' }]);
  expect(prompts.get(path[1]?.stepId ?? '')?.messages).toHaveLength(3);
  expect(await send('[]', {}, '/v1/logs')).toMatchObject({ status: 400 });
});

/** A request of log records that hold a message of the user and the reply of a call. */
const logsOf = (spanId: string, at: number, reply: string, own: object = {}) => {
  const record = (eventName: string, body: object) => ({
    traceId: TRACE,
    spanId: spanId.repeat(16),
    timeUnixNano: `${1_700_000_000_000 + at}000000`,
    eventName,
    body: anyValue(body),
    attributes: attributes(own),
  });
  const logRecords = [
    record('gen_ai.user.message', { content: 'Weather?' }),
    record('gen_ai.choice', { index: 0, message: { role: 'assistant', content: reply } }),
  ];
  return {
    resourceLogs: [{ resource: { attributes: attributes({ 'service.name': 'agent' }) }, scopeLogs: [{ logRecords }] }],
  };
};
const MODEL_CALL = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };

test('log records belong to the call that they name by its span, though only that one says where it belongs', async () => {
  const named = { 'espalier.run': 'mine', 'espalier.task': 'weather', 'espalier.rollout': '0' };
  expect(await send(JSON.stringify(logsOf('1', 5, 'Rain.')), {}, '/v1/logs')).toMatchObject({ text: '{}\n' });
  const spans = [span('1', 0, { ...MODEL_CALL, ...named }), span('2', 100, { ...MODEL_CALL, ...named })];
  await send(JSON.stringify(request(spans)));
  expect(await send(JSON.stringify(logsOf('2', 105, 'Sun.', named)), {}, '/v1/logs')).toMatchObject({ text: '{}\n' });
  expect(await proxy.place()).toEqual([]);
  const { calls, runs, trees } = await proxy.recorded();
  expect(calls.map(({ choices }) => choices.map(({ message }) => JSON.parse(String(message)).content))).toEqual([
    ['Rain.'],
    ['Sun.'],
  ]);
  expect([runs.map(({ name }) => name), trees.map(({ alias }) => alias)]).toEqual([['mine'], ['weather']]);
});

test('log records that arrive after the end of their rollout are counted as rejected, in both forms', async () => {
  await recordedOf([span('1', 0, inferred)]);
  const late = logsOf('1', 300, 'Sun.');
  const partialSuccess = {
    rejectedLogRecords: '2',
    errorMessage: `the rollout ${TRACE} has ended; name another rollout`,
  };
  const answer = await send(JSON.stringify(late), {}, '/v1/logs');
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { partialSuccess }]);
  const ids = JSON.parse(JSON.stringify(late), (key, value) =>
    /^(trace|span)Id$/.test(key) ? Buffer.from(value, 'hex').toString('base64') : value,
  );
  const binary = await send(encodeRequest(ids, 'logs'), { 'content-type': 'application/x-protobuf' }, '/v1/logs');
  expect([binary.status, binary.text]).toEqual([200, expect.stringContaining('has ended; name another rollout')]);
});

test('log records end no rollout: it waits as long as an open one until its root arrives, whose failure is its end', async () => {
  const { api } = proxy;
  const placeEnded = async () => {
    await api.projected(formatPosition(await api.log.ends(TOPICS)));
    const capture = openCapture({ database: api.database, log: api.log, blobs: api.blobs, config: { capture: {} } });
    return openTraces({ db: api.database.db, capture }).place({ endedMs: 0, openMs: QUIET.openMs });
  };
  await send(JSON.stringify(logsOf('1', 5, 'Rain.')), {}, '/v1/logs');
  await send(JSON.stringify(request([span('1', 0, MODEL_CALL)])));
  expect(await placeEnded()).toEqual([]);
  expect((await proxy.recorded()).calls).toEqual([]); // the agent pauses
  await send(JSON.stringify(logsOf('2', 105, 'Sun.')), {}, '/v1/logs');
  const root = { parentSpanId: undefined, name: 'agent', status: { code: 2, message: 'it broke' } };
  const last = [span('2', 100, MODEL_CALL), span('3', 200, { 'gen_ai.operation.name': 'invoke_agent' }, root)];
  expect((await send(JSON.stringify(request(last)))).text).not.toContain('has ended');
  expect(await placeEnded()).toEqual([]);
  const { calls, rollouts } = await proxy.recorded();
  expect(calls).toHaveLength(2);
  expect(rollouts).toMatchObject([{ outcome: 'failed', reason: 'it broke' }]);
});

/** What the instrumentations exported of one agent: openinference-instrumentation-openai 0.1.66, opentelemetry-instrumentation-openai-v2 2.4b0. */
const specimen = (name: string) =>
  JSON.parse(readFileSync(new URL(`./fixtures/otlp-${name}.json`, import.meta.url), 'utf8')) as readonly {
    readonly signal: 'traces' | 'logs';
    readonly body: object;
  }[];

test.each([
  [
    'openai-v2',
    'logs',
    [
      ['', 2, 'result call_0_0\nresult call_0_1'],
      ['reply 0 to «result call_0_1» 👩‍👧', 0, ''],
    ],
  ],
  [
    'openinference',
    'attributes',
    [
      ['', 2, 'result call_0_0\nresult call_0_1'],
      ['reply 0 to «result call_0_1» 👩‍👧', 0, 'tool think'],
      ['', 1, '4'],
    ],
  ],
] as const)('what %s exports in %s becomes the path of its agent, as it was sent', async (name, _, expected) => {
  for (const { signal, body } of specimen(name)) expect((await send(JSON.stringify(body), {}, `/v1/${signal}`)).status).toBe(200);
  expect(await proxy.place()).toEqual([]);
  const { steps, calls, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(calls.every(({ outcome }) => outcome === 'answered')).toBe(true);
  const path = steps.filter(({ rolloutId }) => rolloutId !== null).slice(0, expected.length);
  const calledBy = (reply: unknown) => (reply as { readonly toolCalls?: readonly unknown[] } | null)?.toolCalls?.length ?? 0;
  expect(path.map(({ response, reply, observation }) => [response, calledBy(reply), observation])).toEqual(expected);
});
