import { expect, test } from '@jest/globals';
import { textOf } from '../../domain/capture/call-message.ts';
import { parseJsonText } from '../../events/json-text.ts';
import { type Assembler, assemble, readReply, tryReply } from './read-reply.ts';
import type { Api } from './read-request.ts';

const chat = (message: object) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
const called = (body: unknown) => readReply('chat.completions', body).choices[0]?.message.toolCalls;

const readParts = (api: Api, parts: Assembler) => tryReply(api, parts.whole(), parts.losses).reply;

function streamed(deltas: readonly object[]) {
  const assembler = assemble('chat.completions');
  for (const delta of deltas) assembler.add({ choices: [{ index: 0, delta }] });
  return assembler.whole();
}
const part = (index: number, call: object) => ({ tool_calls: [{ index, ...call }] });

test.each([
  [{ error: { message: 'out of memory' } }],
  [{ error: 'out of memory' }],
  [{ object: 'error', message: 'out of memory' }],
])('a stream with %j in its middle is no reply, although it ends with [DONE]', (fault) => {
  const stream = assemble('chat.completions');
  stream.add({ choices: [{ index: 0, delta: { content: 'The ans' } }] });
  stream.add(fault);
  stream.end();
  expect(stream.fault()).toMatch(/^the model server reported in its stream: (.*out of memory|no message)/);
});

test('arguments that a server sends as an object are kept as JSON', () => {
  const call = { id: 'a', type: 'function', function: { name: 'search', arguments: { query: 'é', n: [1] } } };
  expect(called(chat({ content: null, tool_calls: [call] }))).toEqual([
    { id: 'a', name: 'search', arguments: '{"query":"é","n":[1]}' },
  ]);
});

test('the texts of a reply in parts are its text, and its thinking is its thought; those of a stream grow together', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'h' }] },
    { type: 'thinking', thinking: [{ type: 'text', text: 'm' }] },
    { type: 'text', text: 'the ' },
    { type: 'text', text: 'end' },
  ];
  for (const body of [chat({ content }), streamed(content.map((one) => ({ content: [one] })))]) {
    const choice = readReply('chat.completions', body).choices[0];
    expect(choice?.message.reasoning).toBe('hm');
    expect(choice?.message.parts.map((one) => (one.kind === 'text' ? one.text : '')).join('')).toBe('the end');
  }
  const grown = readReply('chat.completions', streamed(content.map((one) => ({ content: [one] })))).choices[0]?.raw;
  expect(JSON.parse(String(grown)).content).toEqual([
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'the end' },
  ]);
});

test('calls that a server all numbers 0 stay apart, also where later parts have no id', () => {
  const body = streamed([
    part(0, { id: 'a', function: { name: 'first', arguments: '{"x"' } }),
    part(0, { function: { arguments: ':1}' } }),
    part(0, { id: 'b', function: { name: 'second', arguments: '{"y"' } }),
    part(0, { function: { arguments: ':2}' } }),
    part(0, { id: 'a', function: { arguments: ' ' } }),
  ]);
  expect(called(body)).toEqual([
    { id: 'a', name: 'first', arguments: '{"x":1} ' },
    { id: 'b', name: 'second', arguments: '{"y":2}' },
  ]);
});

test('a name that comes again with every part is not glued to itself', () => {
  const body = streamed([
    part(0, { id: 'a', function: { name: 'search', arguments: '{' } }),
    part(0, { function: { name: 'search', arguments: '}' } }),
    part(1, { id: 'b', function: { name: 'se' } }),
    part(1, { function: { name: 'arch', arguments: '{}' } }),
  ]);
  expect(called(body)).toEqual([
    { id: 'a', name: 'search', arguments: '{}' },
    { id: 'b', name: 'search', arguments: '{}' },
  ]);
});

test('a part of a stream holds any number of tokens', () => {
  const logprobs = { content: Array.from({ length: 200_000 }, () => ({ token: 'a', logprob: -1 })) };
  const ids = logprobs.content.map((_, i) => i);
  const assembler = assemble('chat.completions');
  assembler.add({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', logprobs, token_ids: ids }] });
  expect(readReply('chat.completions', assembler.whole()).choices[0]?.tokens?.ids).toHaveLength(200_000);
});

test('a reply is kept as its server wrote it: numbers in arguments, and keys that occur twice, which are named', () => {
  const message =
    '{"content": null, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"n": 1.0, "n": 1e400}}}]}';
  const read = readReply('chat.completions', parseJsonText(`{"choices": [{"finish_reason": "stop", "message": ${message}}]}`));
  expect(read.choices[0]?.raw).toBe(message);
  expect(read.choices[0]?.message.toolCalls[0]?.arguments).toBe('{"n": 1.0, "n": 1e400}');
  expect(read.losses).toEqual([
    'choices.0.message.tool_calls.0.function.arguments.n occurs twice in its object',
    'choices.0.message.tool_calls.0.function.arguments.n is 1e400, which is beyond the range of a double',
  ]);
});

test('arguments that come in parts are put together as their text', () => {
  const parts = assemble('messages');
  for (const text of [
    '{"type":"message_start","message":{"id":"m","role":"assistant","usage":{}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"n\\": 1."}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"0}"}}',
    '{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"lost"}}',
  ])
    parts.add(parseJsonText(text) as object as Record<string, unknown>); // objects
  const { choices, losses } = readParts('messages', parts);
  expect(choices[0]?.message.toolCalls[0]?.arguments).toBe('{"n": 1.0}');
  expect(losses).toEqual(['a delta of block 4, which was not begun']);
});

test.each([
  [[{ id: 'c', type: 'custom', custom: { name: 'f', input: 'x' } }], [{ id: 'c', name: 'f', arguments: 'x' }]],
  [[{ function: { name: null } }], [{ id: null, name: '', arguments: '' }]],
  [[{ function: null }], []],
  ['none', []],
])('a reply is read whatever its calls of tools are: %j', (calls, read) => {
  expect(readReply('chat.completions', chat({ content: 'a', tool_calls: calls })).choices[0]?.message.toolCalls).toEqual(read);
});

test('thinking without a text is no part of what is said in a stream and no loss, and a refusal is a part', () => {
  const parts = assemble('chat.completions');
  for (const part of [
    { type: 'thinking', thinking: [] },
    { type: 'thinking', thinking: [{ type: 'text', text: '' }] },
    { type: 'refusal', refusal: 'No.' },
  ])
    parts.add({ choices: [{ index: 0, delta: { content: [part] } }] });
  const { choices, losses } = readParts('chat.completions', parts);
  expect([choices[0]?.message.parts, losses]).toEqual([[{ kind: 'text', text: 'No.' }], []]);
});

test('log-probabilities of which a server leaves out one are kept under their tokens', () => {
  const logprobs = {
    content: [
      { token: 'a', logprob: null },
      { token: 'b', logprob: -1 },
    ],
  };
  const read = (more: object) => readReply('chat.completions', { choices: [{ message: { content: 'ab' }, logprobs, ...more }] });
  const namedTokens = '[["a",null],["b",-1]]';
  expect(read({})).toMatchObject({ losses: [], choices: [{ tokens: null, namedTokens }] });
  expect(read({ token_ids: [5, 6] })).toMatchObject({
    losses: [],
    choices: [{ tokens: { ids: [5, 6], logProbs: null }, namedTokens }],
  });
});

test('what cannot be read of a reply is a loss, and no empty value', () => {
  const lossesOf = (api: 'responses' | 'messages', body: object) => readReply(api, body).losses;
  expect(readReply('chat.completions', chat({ content: 'a', tool_calls: [7] })).losses).toEqual([
    'choices.0.message.tool_calls.0.names no tool',
  ]);
  expect(lossesOf('responses', { output: [{ type: 'web_search_call' }] })).toEqual([
    'output.0 is an item of type "web_search_call"',
    'output.holds no message of the model',
  ]);
  expect(
    lossesOf('messages', {
      content: [
        { type: 'text', text: 'a' },
        { type: 'server_tool_use', name: 'web_search' },
      ],
    }),
  ).toEqual(['content.content.1 is a part of type "server_tool_use", and is not recorded']);
  expect(lossesOf('messages', { content: [{ type: 'tool_result', tool_use_id: 'a', content: '' }] })).toEqual([
    'content.holds no message of the model',
  ]);
  const odd = assemble('chat.completions');
  const content = [{ type: 'text', text: 'a' }, { type: 'image_url', image_url: 'x' }, { type: 'weird' }, 7];
  odd.add({ choices: [{ index: 0, delta: { content, tool_calls: { id: 'a' } } }] });
  const { losses, choices } = readParts('chat.completions', odd);
  expect(losses).toEqual([
    'a delta of choice 0: tool_calls is no list',
    'choices.0.message.content.2 is a part of type "weird", and is not recorded',
    'choices.0.message.content.3 is no part, and is not recorded',
    'choices.0 holds a picture, which no step holds',
  ]);
  expect(choices[0]?.message && textOf(choices[0].message)).toBe('a');
});

test.each<[string, object, object]>([
  ['a list of strings', { content: ['a', 'b'] }, { text: 'ab' }],
  ['an object with a text', { content: { text: 'a' } }, { text: 'a' }],
  ['thoughts as a list', { content: 'a', reasoning_content: ['x', { text: 'y' }] }, { text: 'a', thought: 'xy' }],
  ['a thought as an object', { content: 'a', reasoning: { content: 'x' } }, { text: 'a', thought: 'x' }],
  [
    'blocks',
    { content: 'a', thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 's' }] },
    { text: 'a', thought: 'x' },
  ],
  ['details', { content: 'a', reasoning_details: [{ type: 'reasoning.text', text: 'x' }] }, { text: 'a', thought: 'x' }],
  [
    'hidden details',
    { content: 'a', reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
    { text: 'a', losses: ['choices.0.message.reasoning_details holds no text'] },
  ],
  [
    'sound with its transcript',
    { content: null, audio: { id: 'i', transcript: 'a' } },
    { text: 'a', losses: ['choices.0.message.audio is kept as its transcript'] },
  ],
])('a reply with %s is read, whole and streamed, and what of it has no text is a loss', (_, message, expected) => {
  const stream = assemble('chat.completions');
  stream.add({ choices: [{ index: 0, delta: message }] });
  expect(stream.fault()).toBe('the stream ended before the reply did');
  stream.end();
  expect(stream.fault()).toBeNull();
  for (const [body, lost] of [[chat(message), []] as const, [stream.whole(), stream.losses] as const]) {
    const { reply, fault } = tryReply('chat.completions', body, lost);
    const [choice] = reply.choices;
    const text = choice?.message.parts.map((one) => (one.kind === 'text' ? one.text : '')).join('');
    expect({ fault, text, thought: choice?.message.reasoning }).toMatchObject({ fault: null, thought: '', ...without(expected) });
    expect(reply.losses.length > 0).toBe('losses' in expected);
    if (lost.length === 0) expect(reply.losses).toEqual('losses' in expected ? expected.losses : []);
  }

  function without({ losses: _losses, ...rest }: { readonly losses?: unknown }) {
    return rest;
  }
});

test('fields of a reply that no reader takes are left out and named, and the reply is read without them', () => {
  const odd = { index: 0, message: { content: 'a' }, finish_reason: 7, token_ids: ['x'] };
  const { reply, fault } = tryReply('chat.completions', { id: 5, choices: [odd] });
  expect(fault).toBeNull();
  expect(reply.choices).toMatchObject([{ finishReason: null, tokens: null, message: { parts: [{ text: 'a' }] } }]);
  expect(reply.losses.map((loss) => loss.replace(/:.*/s, ''))).toEqual([
    'id cannot be read',
    'choices.0.finish_reason cannot be read',
    'choices.0.token_ids.0 cannot be read',
  ]);
});

test.each<[string, unknown, number]>([
  ['sound without a transcript', chat({ content: null, audio: { id: 'i' } }), 1],
  ['no message', { choices: [{ message: null }] }, 1],
  ['an error of its server', { error: { message: 'no' } }, 0],
])('a reply that holds %s is no step', (_, body, losses) => {
  const { reply, fault } = tryReply('chat.completions', body);
  expect(fault).not.toBeNull();
  expect(reply.losses).toHaveLength(losses);
});
