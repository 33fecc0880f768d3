import { expect, test } from '@jest/globals';
import { parseJsonText } from '../../events/json-text.ts';
import type { Json } from '../../policies/openai/read-messages.ts';
import { drawingFields, drawingOf } from '../../policies/openai/request.ts';
import { type Api, readRequest } from './read-request.ts';

const samplingOf = (body: Json, api: Api = 'chat.completions') => readRequest(api, { messages: [], ...body }).sampling;

test('what a request does not say of its sampling is unknown, its temperature too', () => {
  const unknown = { temperature: null, topP: null, topK: null, minP: null, repetitionPenalty: null, maxTokens: null, seed: null };
  expect(samplingOf({})).toEqual({ ...unknown, stop: [], others: [] });
  expect(samplingOf({ temperature: 0, extra_body: { top_k: 20 } })).toMatchObject({ temperature: 0, topK: 20 });
});

test.each<[string, Json, ...Api[]]>([
  // jest hands a callback to a parameter that a row leaves out
  ['presence_penalty', { presence_penalty: 0.5 }],
  ['frequency_penalty', { frequency_penalty: -1 }],
  ['logit_bias', { logit_bias: { 50256: -100 } }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['response_format', { text: { format: { type: 'json_schema', schema: {} } } }, 'responses'],
  ['guided_regex', { extra_body: { guided_regex: 'a+' } }],
  ['tool_choice', { tool_choice: 'required' }],
  ['json_schema', { json_schema: {} }], // any JSON, and nothing else
  ['best_of', { n: 2, best_of: 3 }],
  ['num_beams', { num_beams: 4 }],
  ['num_beams', { generation_config: '{"do_sample":true,"num_beams":4}' }],
  ['generation_config', { generation_config: 'greedy' }],
])('%s of %j is recorded among the other parameters', (name, body, ...api) => {
  expect(samplingOf(body, ...api).others).toEqual([{ name, value: expect.stringMatching(/./) }]);
});

test.each<[Json, ...Api[]]>([
  [{ presence_penalty: 0, frequency_penalty: null, logit_bias: {}, response_format: { type: 'text' }, tool_choice: 'auto' }],
  [{ text: { format: { type: 'text' } } }, 'responses'],
  [{ grammar: '', regex: '', json_schema: '', guided_choice: [], logit_bias: [], bad_words: [], structured_outputs: {} }],
  [{ n: 4, best_of: 4, num_beams: 1, generation_config: {} }],
  [{ user: 'u', stream: true, logprobs: true, metadata: {} }],
])('parameters of %j change nothing and are left out', (body, ...api) => {
  expect(samplingOf(body, ...api).others).toEqual([]);
});

test('the generation config that we write for `transformers serve` is read as the whole distribution, and greedily as temperature 0', () => {
  const asked = (temperature: number) => samplingOf(drawingFields(drawingOf(temperature, {}, 'transformers'), 'transformers'));
  expect(asked(0.7)).toMatchObject({ temperature: 0.7, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1, others: [] });
  expect(asked(0)).toMatchObject({ temperature: 0, others: [] });
  const config = { do_sample: true, top_k: 20, temperature: 0.5 };
  expect(samplingOf({ temperature: null, generation_config: config })).toMatchObject({ temperature: 0.5, topK: 20, others: [] });
  expect(samplingOf({ temperature: 0.7, generation_config: { do_sample: false } })).toMatchObject({ temperature: 0 });
});

const fromText = (text: string, api: Api = 'chat.completions') => readRequest(api, parseJsonText(text) as Json); // objects

test('arguments that are objects and schemas of tools are recorded as they came, and a seed that no double holds is named', () => {
  const { messages, tools, sampling, losses } = fromText(
    '{"seed": 12345678901234567890, "tools": [{"maximum": 1.0}], "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": 1.0, "id": 9007199254740993}}}]}]}',
  );
  expect(messages[0]?.toolCalls[0]?.arguments).toBe('{"n": 1.0, "id": 9007199254740993}');
  expect(tools).toBe('[{"maximum": 1.0}]');
  expect(sampling.seed).toBeNull();
  expect(losses).toEqual([
    'seed is 12345678901234567890, which a reader of JSON takes for 12345678901234567168',
    'messages.0.tool_calls.0.function.arguments.id is 9007199254740993, which a reader of JSON takes for 9007199254740992',
    'seed is no whole number that a double holds',
  ]);
});

test.each<[Json, string, ...Api[]]>([
  [{ messages: 'hello' }, 'messages is no list'],
  [{ messages: [{ role: 'critic', content: 'no' }] }, 'messages.0.role is "critic"'],
  [{ messages: ['hello'] }, 'messages.0.is no object'],
  [{ messages: [{ role: 'assistant', tool_calls: { id: 'a' } }] }, 'messages.0.tool_calls is no list'],
  [{ messages: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] }, 'messages.0.tool_calls.0.names no tool'],
  [{ messages: [{ role: 'user', content: 7 }] }, 'messages.0.content is neither a text nor a list of parts, and is not recorded'],
  [{ messages: [{ role: 'assistant', content: [{ type: 'thinking' }] }] }, 'messages.0.content.0 is thinking without a text'],
  [
    { messages: [{ role: 'user', content: [{ type: 'weird' }] }] },
    'messages.0.content.0 is a part of type "weird", and is not recorded',
  ],
  [{ input: [], conversation: 'c' }, 'conversation names messages that its server keeps, which are not recorded', 'responses'],
  [{ messages: [], temperature: '0.7' }, 'temperature is no number'],
  [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input.0 is an item of type "item_reference"', 'responses'],
  [{ messages: [7] }, 'messages.0.is no object', 'messages'],
])('what cannot be read of %j is a loss: %s', (body, loss, ...[api = 'chat.completions']) => {
  expect(readRequest(typeof api === 'string' ? api : 'chat.completions', body).losses).toContain(loss);
});

test('a content of no form that is known is left out, and no text takes its place', () => {
  const parts = (content: unknown, api: Api = 'chat.completions') =>
    readRequest(api, { messages: [{ role: 'user', content }] }).messages[0]?.parts;
  expect(parts({ answer: 7 })).toEqual([]);
  const text = { type: 'text', text: 'see' };
  expect(parts([text, { type: 'weird' }, 7])).toEqual([{ kind: 'text', text: 'see' }]);
  expect(parts([text, { type: 'image', source: { type: 'file', file_id: 'f' } }], 'messages')).toHaveLength(1);
});

test.each<[object, string]>([
  [{ type: 'image_url', image_url: { url: 'http://x' } }, 'http://x'],
  [{ type: 'input_image', image_url: 'http://x' }, 'http://x'],
  [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }, 'data:image/png;base64,AAAA'],
  [{ type: 'image', source: { type: 'url', url: 'http://x' } }, 'http://x'],
  [{ type: 'image', image: 'http://x' }, 'http://x'],
  [{ type: 'file', mediaType: 'image/png', data: 'http://x' }, 'http://x'],
  [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }, 'data:image/png;base64,AAAA'],
])('%j is a picture, whichever program wrote it', (part, url) => {
  const { messages, losses } = readRequest('chat.completions', { messages: [{ role: 'user', content: [part] }] });
  expect([messages[0]?.parts, losses]).toEqual([[{ kind: 'picture', url }], []]);
});
