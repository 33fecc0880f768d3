import { expect, test } from '@jest/globals';
import { drawingFields, drawingOf } from '../../policies/openai/request.ts';
import { type Api, type Json, readRequest } from './read-request.ts';

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
