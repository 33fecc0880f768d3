import { expect, test } from '@jest/globals';
import { withExtras, withoutExtras } from './upstream.ts';

const added = { logProbs: false, tokenIds: false, usage: true };

test('a stream is asked for its usage, but for the last try at a server that refuses what is asked besides', () => {
  const body = { model: 'm', stream: true };
  expect(withExtras('chat.completions', body, 'none').body).toEqual({ ...body, stream_options: { include_usage: true } });
  expect(withExtras('chat.completions', body, 'untouched')).toEqual({
    body,
    added: { logProbs: false, tokenIds: false, usage: false },
  });
});

test('of the parts without choices only that of the usage is taken out', () => {
  expect(withoutExtras({ choices: [], usage: { total_tokens: 3 } }, added, 'part')).toBeNull();
  const first = { choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
  expect(withoutExtras({ ...first, usage: null }, added, 'part')).toEqual(first);
});
