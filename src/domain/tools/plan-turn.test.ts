import { describe, expect, test } from '@jest/globals';
import { validateSeedArguments } from './parse-calls.ts';
import { type KnownTools, planTurn, type ToolProfile } from './plan-turn.ts';

const schema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
const tools: KnownTools = {
  names: ['search', 'python'],
  problemOf: ({ name, arguments: given, floats }) => (name === 'search' ? validateSeedArguments(given, schema, floats) : null),
};
const plan = (profile: ToolProfile, response: string, parallel = false) => planTurn(profile, response, tools, { parallel });
const answers = (profile: ToolProfile, response: string, parallel = false) => {
  const planned = plan(profile, response, parallel);
  return planned.kind === 'final'
    ? 'final'
    : planned.calls.map((each) => (each.kind === 'execute' ? each.call.text : each.answer));
};
const good = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>';
const other = '<tool_call>{"name": "search", "arguments": {"query": "y"}}</tool_call>';

describe('profile seed', () => {
  const invalid =
    'Invalid tool call format. Please use <tool_call>{"name": "tool_name", "arguments": {params_json}}</tool_call> format.';
  test.each<[string, string, number, boolean]>([
    ['<tool_call>{bad}</tool_call>', invalid, -0.1, false],
    ['<tool_call>{"arguments": {}}</tool_call>', invalid, -0.1, false],
    ['<tool_call>{"name": "nope"}</tool_call>', 'Unknown tool: nope', -0.05, true],
    [
      '<tool_call>{"name": "search"}</tool_call>',
      "Invalid arguments for tool 'search': Missing required parameter: query",
      -0.05,
      true,
    ],
    [
      '<tool_call>{"name": "search", "arguments": [1]}</tool_call>',
      "Invalid arguments for tool 'search': Arguments must be a dictionary",
      -0.05,
      true,
    ],
  ])('the call %s is answered and penalised as in the seed profile', (response, answer, reward, valid) => {
    expect(plan('seed', response)).toEqual({
      kind: 'calls',
      calls: [expect.objectContaining({ kind: 'refused', answer, reward, valid })],
    });
  });

  test('the first pair of tags counts, and its content is stripped as in Python', () => {
    expect(answers('seed', `${good}${other}`)).toEqual(['{"query": "x"}']);
    expect(answers('seed', good.replace('>{', '>\u00a0{'))).toEqual(['{"query": "x"}']);
    expect(answers('nous', good.replace('>{', '>\u00a0{'))).toEqual(['Error: JSONDecodeError']);
  });
});

describe('profile nous', () => {
  test('the nous profile executes the first call, or all of them on request', () => {
    expect(answers('nous', `${good}${other}`)).toEqual(['{"query": "x"}']);
    expect(answers('nous', `${good}<tool_call>{</tool_call>${other}`, true)).toEqual([
      '{"query": "x"}',
      'Error: JSONDecodeError',
      '{"query": "y"}',
    ]);
  });

  test.each(['5', 'null', '[]', '"name"', '{"name": 5, "arguments": {}}'])('%s has no tool name', (json) => {
    expect(answers('nous', `<tool_call>${json}</tool_call>`)).toEqual(['Error: No tool name']);
  });
});

describe('profile v0.1', () => {
  test('profile v0.1 executes all calls, drops malformed ones, and treats a text without any left as final', () => {
    expect(answers('v0.1', `${good}<tool_call>{</tool_call>${other}`)).toEqual(['{"query": "x"}', '{"query": "y"}']);
    expect(answers('v0.1', '<tool_call>{</tool_call>')).toBe('final');
  });

  test('a call of an unknown tool is answered with the known tools', () => {
    expect(answers('v0.1', '<tool_call>{"name": "nope", "arguments": {}}</tool_call>')).toEqual([
      "Error: tool 'nope' not found. Available tools: [search, python]",
    ]);
  });
});

test('profile retool calls python with its blocks', () => {
  const planned = plan('retool', 'think\n<code>\n```python\nprint(1)\n```\n</code>');
  expect(planned).toMatchObject({
    calls: [{ kind: 'execute', call: { name: 'python', arguments: { code: '\n# ========\nprint(1)\n' } } }],
  });
  expect(plan('retool', '<code>\nprint(1)').kind).toBe('final');
});

test.each<[ToolProfile]>([['seed'], ['nous'], ['retool'], ['v0.1']])(
  'a text without a call is final in profile %s',
  (profile) => {
    for (const text of ['', 'no call', '<tool_call>{"name": "search"', '</tool_call><tool_call>'])
      expect(plan(profile, text)).toEqual({ kind: 'final' });
  },
);

test('thirty-two of ten thousand calls are executed, and the rest is answered as one', () => {
  const said = answers('v0.1', good.repeat(10_000));
  expect(said).toHaveLength(33);
  expect(said.at(-1)).toBe('Error: only the first 32 calls of a turn are executed');
});

test('a hundred thousand open tags are scanned once', () => {
  expect(plan('nous', '<tool_call>'.repeat(100_000)).kind).toBe('final');
});
