import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { decodeRefusal, encodeRequest } from '../usecases/capture/traces/otlp-messages.ts';
import { openTestProxy, type TestProxy } from './proxy/proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

const TRACE = 'a'.repeat(32);
const attribute = ([key, value]: [string, unknown]) => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});
const attributes = (given: object) => Object.entries(given).map(attribute);
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
const send = async (body: string | Uint8Array, headers: object = {}) => {
  const response = await fetch(`${url}/v1/traces`, {
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
