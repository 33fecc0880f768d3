import { expect, test } from '@jest/globals';
import { parseJsonText } from '../../events/json-text.ts';
import type { Json } from '../../policies/openai/read-messages.ts';
import { withExtras, withoutExtras } from './upstream.ts';

const added = { logProbs: false, tokenIds: false, usage: true };
const parsed = (text: string) => parseJsonText(text) as Json; // the texts of these tests are objects

test('a stream is asked for its usage, but for the last try at a server that refuses what is asked besides', () => {
  const body = parsed('{"model": "m", "stream":true, "stream_options": {"x": 1.0}, "seed": 12345678901234567890}');
  expect(withExtras('chat.completions', body, 'none').text).toBe(
    '{"model": "m", "stream":true, "stream_options": {"x": 1.0,"include_usage":true}, "seed": 12345678901234567890}',
  );
  expect(withExtras('chat.completions', body, 'untouched')).toEqual({
    text: '{"model": "m", "stream":true, "stream_options": {"x": 1.0}, "seed": 12345678901234567890}',
    added: { logProbs: false, tokenIds: false, usage: false },
  });
});

test('what is asked for besides is set once, and the rest of the request stays as it came', () => {
  const body = parsed('{ "logprobs": false, "messages": [{"content": "\\u00e9", "n": 1e400}] }');
  expect(withExtras('chat.completions', body, 'all').text).toBe(
    '{ "logprobs": true, "messages": [{"content": "\\u00e9", "n": 1e400}],"return_tokens_as_token_ids":true,"return_token_ids":true,"return_meta_info":true }',
  );
});

test('of the parts without choices only that of the usage is taken out', () => {
  const usage = '{"choices":[],"usage":{"total_tokens":3}}';
  expect(withoutExtras(usage, parsed(usage), added, 'part')).toBeNull();
  const first = '{"choices":[],"usage":null,"prompt_filter_results":[{"prompt_index":0}]}';
  expect(withoutExtras(first, parsed(first), added, 'part')).toBe('{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}');
});

test('what was added is taken out of a reply, and its numbers stay as they came', () => {
  const reply =
    '{"prompt_token_ids":[1], "created": 1.0, "choices": [{"token_ids":[2], "index": 0, "logprobs": {"content": []}, "message": {"n": 1e400}}]}';
  const all = { logProbs: true, tokenIds: true, usage: false };
  expect(withoutExtras(reply, parsed(reply), all, 'whole')).toBe(
    '{ "created": 1.0, "choices": [{ "index": 0, "logprobs": null, "message": {"n": 1e400}}]}',
  );
});
