import { expect, test } from '@jest/globals';
import { type Api, type Json, readRequest } from './read-request.ts';

const samplingOf = (body: Json, api: Api = 'chat.completions') => readRequest(api, { messages: [], ...body }).sampling;

test('what a request does not say of its sampling is unknown, its temperature too', () => {
  const unknown = { temperature: null, topP: null, topK: null, minP: null, repetitionPenalty: null, maxTokens: null, seed: null };
  expect(samplingOf({})).toEqual({ ...unknown, stop: [], others: [] });
  expect(samplingOf({ temperature: 0, extra_body: { top_k: 20 } })).toMatchObject({ temperature: 0, topK: 20 });
});

test.each<[string, Json, Api?]>([
  ['presence_penalty', { presence_penalty: 0.5 }],
  ['frequency_penalty', { frequency_penalty: -1 }],
  ['logit_bias', { logit_bias: { 50256: -100 } }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['response_format', { text: { format: { type: 'json_schema', schema: {} } } }, 'responses'],
  ['guided_regex', { extra_body: { guided_regex: 'a+' } }],
  ['tool_choice', { tool_choice: 'required' }],
])('%s of %j is recorded among the other parameters', (name, body, api) => {
  expect(samplingOf(body, api).others).toEqual([{ name, value: expect.stringMatching(/./) }]);
});

test.each<[Json, Api?]>([
  [{ presence_penalty: 0, frequency_penalty: null, logit_bias: {}, response_format: { type: 'text' }, tool_choice: 'auto' }],
  [{ text: { format: { type: 'text' } } }, 'responses'],
  [{ user: 'u', stream: true, logprobs: true, metadata: {} }],
])('parameters of %j change nothing and are left out', (body, api) => {
  expect(samplingOf(body, api).others).toEqual([]);
});
