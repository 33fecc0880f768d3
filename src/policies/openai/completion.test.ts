import { describe, expect, test } from '@jest/globals';
import { parseCompletion } from './completion.ts';

/** Reads a completion of one choice. */
function actOf(message: object, finishReason = 'stop') {
  const [act] = parseCompletion(JSON.stringify({ choices: [{ message, finish_reason: finishReason }] })).acts;
  return act;
}

describe('a reply without content', () => {
  test.each(['reasoning_content', 'reasoning'])(
    'is an act of its reasoning (%s), in the tags that the server took away',
    (field) => {
      for (const content of [null, ''])
        expect(actOf({ content, [field]: 'I need a plank.' })?.response).toBe('<think>\nI need a plank.\n</think>');
    },
  );

  test('that was cut while it thought leaves the thought open', () => {
    expect(actOf({ content: null, reasoning_content: 'I need' }, 'length')).toMatchObject({
      response: '<think>\nI need',
      finishReason: 'length',
    });
  });

  test('is a refusal where the server gives one, and empty where it gives nothing', () => {
    expect(actOf({ content: null, refusal: 'I cannot.', reasoning_content: 'Hm.' })?.response).toBe('I cannot.');
    expect(actOf({ content: null, reasoning_content: null })?.response).toBe('');
    expect(actOf({ content: null, reasoning_content: '' })?.response).toBe('');
  });
});

test('content is the reply as it is, whatever reasoning stands beside it', () => {
  expect(actOf({ content: 'Action: look', reasoning_content: 'Hm.' })?.response).toBe('Action: look');
});
