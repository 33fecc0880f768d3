import { expect, test } from '@jest/globals';
import { readPublishedReply } from './published-prompt.ts';

const actionOf = (reply: string) => readPublishedReply(reply, 'other').action;

test('white space around a reply and its action is what Python strips, not what JavaScript does', () => {
  expect(actionOf('Thought: t\nAction: \u00a0get 1 stick\u001f\u0085')).toBe('get 1 stick');
  expect(actionOf('Thought: t\nAction: get 1 stick\ufeff')).toBe('get 1 stick\ufeff');
  expect(readPublishedReply('\u001c\u0085Thought: t\nAction: a\u001e', 'other').turn).toBe('Thought: t\nAction: a');
  expect(readPublishedReply('\ufeffThought: t\nAction: a', 'other').turn).toBe('\ufeffThought: t\nAction: a');
});

test('a number in front of an action goes with the digits and the white space that Python knows', () => {
  expect(actionOf('Action: 12.   get 1 stick')).toBe('get 1 stick');
  expect(actionOf('Action: \u0662.\u0085get 1 stick')).toBe('get 1 stick');
  expect(actionOf('Action: 1.\ufeffget 1 stick')).toBe('\ufeffget 1 stick');
  expect(actionOf('Action: 1 get 1 stick')).toBe('1 get 1 stick');
});
