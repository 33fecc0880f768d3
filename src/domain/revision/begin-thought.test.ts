import { describe, expect, test } from '@jest/globals';
import { parseThoughtAction, writeResponse } from '../prompts/parse-thought-action.ts';
import { projectResponse } from '../prompts/project-response.ts';
import { planTurn, TOOL_PROFILES } from '../tools/plan-turn.ts';
import { beginThought, replyFormOf } from './splice.ts';

test.each<[string, string]>([
  ['Thought: I go.\nAction: go', 'Thought: R I go.\nAction: go'],
  ['Thought 1: I go.\nAction 1: go', 'Thought 1: R I go.\nAction 1: go'],
  ['Thought:\nI go.\nAction: go', 'Thought:\nR I go.\nAction: go'],
  ['Thought: \nAction: go', 'Thought: R\nAction: go'],
  ['Thought:', 'Thought: R\n'],
  ['Action: go', 'Thought: R\nAction: go'],
  ['go', 'Thought: R\ngo'],
  ['<think>I go.</think>\n<action>go</action>', '<think>R I go.</think>\n<action>go</action>'],
  ['<think>\nI go.\n</think>\n<search>x</search>', '<think>\nR I go.\n</think>\n<search>x</search>'],
  ['<think></think><answer>x</answer>', '<think>R</think><answer>x</answer>'],
  ['Well.\n<think>I go.</think><answer>x</answer>', 'Well.\n<think>R I go.</think><answer>x</answer>'],
  ['I go.\n</think>\n<tool_call>{}</tool_call>', 'R I go.\n</think>\n<tool_call>{}</tool_call>'],
  ['</think><answer>x</answer>', 'R</think><answer>x</answer>'],
  ['<tool_call>{}</tool_call>', 'R\n<tool_call>{}</tool_call>'],
  ['I run it.\n<code>\nprint(1)\n</code>', 'R\nI run it.\n<code>\nprint(1)\n</code>'],
  ['<answer>x</answer>', 'R\n<answer>x</answer>'],
])('the reflection is inserted at the start of the thought of %j, in its own form', (reply, reflected) => {
  expect(beginThought('R', reply)).toBe(reflected);
});

describe('the action of a reply with a reflection', () => {
  test.each(['alfworld', 'search-qa', 'textcraft'] as const)(
    'the template %s reads the same well-formed action with and without the reflection',
    (name) => {
      const action = name === 'search-qa' ? '<search>a river</search>' : 'get 1 log';
      for (const thought of ['I think.', '']) {
        const reply = writeResponse(name, { thought, action, factor: 1.5 });
        const read = projectResponse(name, beginThought('I erred.', reply), { compression: true });
        expect(read).toEqual({
          ...projectResponse(name, reply, { compression: true }),
          thought: thought === '' ? 'I erred.' : 'I erred. I think.',
        });
        expect(read.valid).toBe(true);
      }
    },
  );

  test.each(TOOL_PROFILES)('profile %s reads the same tool calls with and without the reflection', (profile) => {
    const tools = { names: ['search', 'python'], problemOf: () => null };
    const call = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>';
    const made = profile === 'retool' ? '<code>\nprint(1)\n</code>' : call;
    for (const reply of [`<think>I look.</think>\n${made}`, `I look.\n</think>\n${made}`, `I look.\n${made}`, made]) {
      const plan = planTurn(profile, reply, tools, { parallel: true });
      expect(plan).toMatchObject({ kind: 'calls', calls: [{ kind: 'execute' }] });
      expect(planTurn(profile, beginThought('I erred.', reply), tools, { parallel: true })).toEqual(plan);
    }
  });

  test('labels are read the same with and without the reflection', () => {
    for (const reply of ['Thought: I go.\nAction: go', 'Thought:\nAction: go', 'Action: go', 'Thought 1: x\nAction 1: go'])
      expect(parseThoughtAction(beginThought('I erred.', reply))).toMatchObject({ action: 'go', wellFormatted: true });
  });
});

test('a label before a tag makes a reply one with labels', () => {
  expect(replyFormOf('Thought: I go.\nAction: <search>x</search>')).toBe('labels');
  expect(replyFormOf('<think>Thought: no label</think>')).toBe('tags');
});
