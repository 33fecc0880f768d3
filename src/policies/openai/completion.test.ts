import { describe, expect, test } from '@jest/globals';
import { parseCompletion } from './completion.ts';

/** Reads a completion of one choice. */
function actOf(message: object, finishReason = 'stop') {
  const [act] = parseCompletion(JSON.stringify({ choices: [{ message, finish_reason: finishReason }] })).acts;
  return act;
}

describe('replies without content', () => {
  test.each(['reasoning_content', 'reasoning'])(
    'a reply of reasoning alone (%s) becomes an act with the tags that the server removed',
    (field) => {
      for (const content of [null, ''])
        expect(actOf({ content, [field]: 'I need a plank.' })?.response).toBe('<think>\nI need a plank.\n</think>');
    },
  );

  test('reasoning that was cut off leaves its tag open', () => {
    expect(actOf({ content: null, reasoning_content: 'I need' }, 'length')).toMatchObject({
      response: '<think>\nI need',
      finishReason: 'length',
    });
  });

  test('a refusal of the server becomes the act, and an empty reply an empty act', () => {
    expect(actOf({ content: null, refusal: 'I cannot.', reasoning_content: 'Hm.' })?.response).toBe('I cannot.');
    expect(actOf({ content: null, reasoning_content: null })?.response).toBe('');
    expect(actOf({ content: null, reasoning_content: '' })?.response).toBe('');
  });
});

test('content is the whole text of a reply, and what parsers of the server took out of it comes apart', () => {
  expect(actOf({ content: 'Action: look', reasoning_content: 'Hm.' })).toMatchObject({
    response: 'Action: look',
    apart: { reasoning: 'Hm.', toolCalls: [] },
  });
  const call = { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"q":1.0}' } };
  expect(actOf({ content: null, reasoning: 'Hm.', tool_calls: [call] })).toMatchObject({
    response: '',
    apart: { reasoning: 'Hm.', toolCalls: [{ id: 'c1', name: 'search', arguments: '{"q":1.0}' }] },
  });
  expect(actOf({ content: 'Action: look' })).not.toHaveProperty('apart');
});

test('calls of tools are read as far as an event takes them', () => {
  const call = { id: 'i'.repeat(10_001), function: { name: 'n'.repeat(10_001), arguments: '' } };
  const calls = actOf({ content: 'a', tool_calls: [7, ...Array(1_001).fill(call)] })?.apart?.toolCalls;
  expect(calls).toHaveLength(1_000);
  expect(calls?.[0]).toMatchObject({ id: 'i'.repeat(10_000), name: 'n'.repeat(10_000) });
});
