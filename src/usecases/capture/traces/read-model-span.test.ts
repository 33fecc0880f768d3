import { expect, test } from '@jest/globals';
import { readModelSpan, spanIdOf, withLogs } from './read-model-span.ts';
import { readLogs, readSpans, type Span, spanOfText, textOfSpan } from './read-spans.ts';

const IDS = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const anyValue = (value: unknown): object => {
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: keyValues(value as object) } };
};
function keyValues(given: object) {
  return Object.entries(given).map(([key, value]) => ({ key, value: anyValue(value) }));
}
/** A call of a model with attributes; lists and objects among them are JSON as a text. */
function spanOf(given: object, events: readonly object[] = []): Span {
  const texts = Object.entries(given).map(([key, value]) => [key, typeof value === 'object' ? JSON.stringify(value) : value]);
  const attributes = keyValues({ 'gen_ai.operation.name': 'chat', ...Object.fromEntries(texts) });
  const one = { ...IDS, name: 'chat', startTimeUnixNano: '1000000000', endTimeUnixNano: '2000000000', attributes, events };
  const [span] = readSpans({ resourceSpans: [{ scopeSpans: [{ spans: [one] }] }] }).spans;
  if (!span) throw new Error('no span');
  return span;
}
const log = (eventName: string, body: object) => ({ ...IDS, timeUnixNano: '1000000000', eventName, body: anyValue(body) });
const logsOf = (logRecords: readonly object[]) => readLogs({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }).spans;
const ofMessages = (input: readonly unknown[], output: readonly unknown[]) =>
  readModelSpan(spanOf({ 'gen_ai.input.messages': input, 'gen_ai.output.messages': output }));
const text = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] });

test('content that an instrumentation does not record is unknown: no empty prompt, and no empty reply', () => {
  const calls = [{ id: 'c', type: 'function', function: { name: 'look' } }];
  const without = [
    [log('gen_ai.user.message', {}), log('gen_ai.choice', { index: 0, message: { role: 'assistant' } })],
    [log('gen_ai.user.message', {}), log('gen_ai.choice', { index: 0, message: { role: 'assistant', tool_calls: calls } })],
  ];
  for (const logs of without) {
    const { request, reply } = readModelSpan(withLogs(spanOf({}), logsOf(logs)));
    expect([request.messages, reply.choices]).toEqual([[], []]);
    expect(request.losses).toEqual([expect.stringMatching(/^gen_ai.user.message holds no content/)]);
    expect(reply.losses).toEqual([expect.stringMatching(/^gen_ai.choice holds no content/)]);
  }
  const redacted = readModelSpan(
    spanOf({ 'openinference.span.kind': 'LLM', 'llm.output_messages.0.message.content': '__REDACTED__' }),
  );
  expect(redacted.reply).toMatchObject({ choices: [], losses: [expect.stringContaining('holds no content')] });
  expect(ofMessages([], [{ role: 'assistant' }]).reply.choices).toEqual([]);
  const empty = readModelSpan(
    withLogs(spanOf({}), logsOf([log('gen_ai.choice', { message: { role: 'assistant', content: '' } })])),
  );
  expect(empty.reply).toMatchObject({ choices: [{ message: { parts: [] } }], losses: [] });
});

test('an attribute that is null as JSON says nothing', () => {
  const none = { 'gen_ai.system_instructions': null, 'llm.invocation_parameters': null, 'gen_ai.output.messages': null };
  const { request } = readModelSpan(spanOf({ ...none, 'gen_ai.input.messages': [text('q')] }));
  expect(request).toMatchObject({ messages: [{ role: 'user', parts: [{ text: 'q' }] }], losses: [] });
});

test('messages of chat completions in place of lists of parts are read', () => {
  const called = [{ id: 'c', type: 'function', function: { name: 'f', arguments: { x: 1 } } }];
  const { request, reply } = ofMessages(
    [
      { role: 'user', content: 'q' },
      { role: 'assistant', tool_calls: called },
      { role: 'tool', tool_call_id: 'c', content: '5' },
    ],
    [{ role: 'assistant', content: [{ type: 'text', text: 'a' }], tool_calls: called, finish_reason: 'stop' }],
  );
  expect(request.messages).toMatchObject([
    { role: 'user', parts: [{ text: 'q' }] },
    { role: 'assistant', toolCalls: [{ id: 'c', name: 'f', arguments: '{"x":1}' }] },
    { role: 'tool', toolCallId: 'c', parts: [{ text: '5' }] },
  ]);
  expect(reply.choices).toMatchObject([
    { message: { parts: [{ text: 'a' }], toolCalls: [{ name: 'f', arguments: '{"x":1}' }] }, finishReason: 'stop' },
  ]);
  expect([...request.losses, ...reply.losses]).toEqual([]);
});

test('pictures of parts are pictures; a part of another kind is a loss, and no text of a prompt or a reply', () => {
  const blob = { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'AAAA' };
  const uri = { type: 'uri', modality: 'image', uri: 'http://x/y.png' };
  const sound = { type: 'blob', modality: 'audio', mime_type: 'audio/wav', content: 'AAAA' };
  const weird = { type: 'weird', content: 'w' };
  const { request, reply } = ofMessages(
    [{ role: 'user', parts: [{ type: 'text', content: 'see' }, blob, uri, sound, weird, 7] }],
    [{ role: 'assistant', parts: [{ type: 'text', content: 'a' }, weird] }],
  );
  expect(request.messages[0]?.parts).toEqual([
    { kind: 'text', text: 'see' },
    { kind: 'picture', url: 'data:image/png;base64,AAAA' },
    { kind: 'picture', url: 'http://x/y.png' },
  ]);
  expect(request.losses).toEqual([
    'messages.0.content.3 is a part of type "blob" (audio/wav), and is not recorded',
    'messages.0.content.4 is a part of type "weird", and is not recorded',
    'messages.0.content.5 is no part, and is not recorded',
  ]);
  expect(reply.choices).toMatchObject([{ message: { parts: [{ kind: 'text', text: 'a' }] } }]);
  expect(reply.losses).toEqual(['reply.0.content.1 is a part of type "weird", and is not recorded']);
  expect(ofMessages([], [{ role: 'assistant', parts: [weird] }]).reply.choices).toEqual([]); // nothing of it was read
});

test('messages of a span event are those of the call, as those of a log record of its name', () => {
  const name = 'gen_ai.client.inference.operation.details';
  const messages = { 'gen_ai.input.messages': [text('q')], 'gen_ai.output.messages': [{ ...text('a'), role: 'assistant' }] };
  const asTexts = Object.fromEntries(Object.entries(messages).map(([key, value]) => [key, JSON.stringify(value)]));
  const read = [
    readModelSpan(spanOf({}, [{ name, attributes: keyValues(asTexts) }])),
    readModelSpan(spanOf({}, [{ name, attributes: keyValues(messages) }])),
    readModelSpan(withLogs(spanOf({}), logsOf([{ ...log(name, {}), attributes: keyValues(messages) }]))),
  ];
  for (const { request, reply } of read) {
    expect(request.messages).toMatchObject([{ role: 'user', parts: [{ text: 'q' }] }]);
    expect(reply.choices).toMatchObject([{ message: { parts: [{ text: 'a' }] } }]);
  }
});

test('equal log records of a request are as many as they are, in their order, however often it is sent', () => {
  const records = [
    log('gen_ai.user.message', { content: 'go' }),
    log('gen_ai.assistant.message', { content: 'ok' }),
    log('gen_ai.user.message', { content: 'go' }),
  ];
  const [once, again] = [logsOf(records), logsOf(records)];
  expect(again.map(spanIdOf)).toEqual(once.map(spanIdOf));
  expect(new Set(once.map(spanIdOf)).size).toBe(3);
  const recorded = once.map((each) => spanOfText(textOfSpan(each)) as Span); // none is forgotten
  const { request } = readModelSpan(withLogs(spanOf({}), recorded));
  expect(request.messages.map(({ parts }) => parts)).toMatchObject([[{ text: 'go' }], [{ text: 'ok' }], [{ text: 'go' }]]);
});

test('numbers of structured attributes keep their digits, also once they are recorded', () => {
  const given = { doubleValue: 1 };
  const big = { intValue: '1234567890123456789' };
  const args = {
    kvlistValue: {
      values: [
        { key: 'x', value: given },
        { key: 'big', value: big },
        { key: 'y', value: { doubleValue: 0.5 } },
      ],
    },
  };
  const part = {
    kvlistValue: { values: [...keyValues({ type: 'tool_call', id: 'c', name: 'f' }), { key: 'arguments', value: args }] },
  };
  const parts = { key: 'parts', value: { arrayValue: { values: [part] } } };
  const message = { kvlistValue: { values: [...keyValues({ role: 'assistant' }), parts] } };
  const attributes = [{ key: 'gen_ai.output.messages', value: { arrayValue: { values: [message] } } }];
  const [received] = logsOf([{ ...log('gen_ai.client.inference.operation.details', {}), attributes }]);
  const recorded = spanOfText(textOfSpan(received as Span)) as Span; // as just made
  for (const each of [received as Span, recorded]) {
    const { request, reply } = readModelSpan(withLogs(spanOf({}), [each]));
    const [choice] = reply.choices;
    expect(choice?.message.toolCalls[0]?.arguments).toBe('{"x":1.0,"big":1234567890123456789,"y":0.5}');
    expect(request.losses).toEqual([expect.stringContaining('big is 1234567890123456789, which a reader of JSON takes for')]);
  }
});
