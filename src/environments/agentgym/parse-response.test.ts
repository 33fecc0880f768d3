import { expect, test } from '@jest/globals';
import { parseResponse } from './parse-response.ts';

test('an action of one line is read as in TextCraft, so that an invented observation never reaches the server', () => {
  const response = 'Thought: t\nAction: go to hall\nObservation: You are in the hall.';
  expect(parseResponse('line', response)).toEqual({ thought: 't', action: 'go to hall', wellFormatted: false });
});

test('the action is the first complete tag, and the thought is the content of <think>', () => {
  const response = '<think>I look it up.</think>\n<search>capital of France</search>';
  const action = '<search>capital of France</search>';
  expect(parseResponse('tag', response)).toEqual({ thought: 'I look it up.', action, wellFormatted: true });
  expect(parseResponse('tag', `${response}<information>Lyon</information><answer>Lyon</answer>`)).toEqual({
    thought: 'I look it up.',
    action,
    wellFormatted: false,
  });
});

test('a response without a complete tag is sent whole, for the server to answer', () => {
  expect(parseResponse('tag', 'Paris, I think. <answer>Par')).toEqual({
    thought: 'Paris, I think. <answer>Par',
    action: 'Paris, I think. <answer>Par',
    wellFormatted: false,
  });
});
