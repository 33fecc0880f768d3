import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { actionOf, goalOf, listedIn } from './read-reply.ts';

describe('actionOf', () => {
  test.each([
    ['Thought: x\nAction: look', 'look'],
    ['Action:\n  go north ', 'go north'],
    ['Action: a\nAction: b', 'b'],
    ['<think>x</think><action> go </action>', 'go'],
    ['<action>never closed', '<action>never closed'],
    [' just this ', 'just this'],
    ['Action:', ''],
  ])('the reply %j means the action %j', (reply, action) => expect(actionOf(reply)).toBe(action));
});

describe('goalOf', () => {
  test.each([
    ['Goal: craft a stick.\nMore', 'a stick'],
    ['x\n\n  Your task: find it', 'find it'],
    ['Question:\nWho?', 'Who?'],
    ['The Goal: craft x', ''],
    ['', ''],
  ])('the prompt %j states the goal %j', (opening, goal) => expect(goalOf(opening)).toBe(goal));
});

describe('listedIn', () => {
  test.each([
    ["What you can do now: ['look']", ['look']],
    ["What you can do now:\n['go to cabinet 2'\n 'look']\n", ['go to cabinet 2', 'look']],
    ["What you can do now: ['a',\n\n 'it's', \n'c'] and more", ['a', "it's", 'c']],
    ["What you can do now: ['x']\n'y']", ['x']],
    ['What you can do now: nothing', null],
    ["What you can do now: ['a' 'b", null],
    ["What you can do now: [x]. What you can do now: ['a']", ['a']],
  ])('the prompt %j lists the actions %j', (message, items) => expect(listedIn(message)).toEqual(items));

  test('actions listed one per line are read back', () => {
    const item = fc.string({ minLength: 1 }).filter((text) => text === text.trim() && !/[\n\r]|']|',$/.test(text));
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), (items) => {
        expect(listedIn(`What you can do now:\n[${items.map((text) => `'${text}'`).join('\n ')}]`)).toEqual(items);
      }),
    );
  });
});
