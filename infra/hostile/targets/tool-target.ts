import fc from 'fast-check';
import { TOOL_PROFILES, type ToolProfile } from '../../../src/domain/tools/plan-turn.ts';
import { answerTurn } from '../../../src/environments/tool-env/answer-turn.ts';
import { calculator } from '../../../src/environments/tools/calculator.ts';
import type { Tool } from '../../../src/environments/tools/tool.ts';
import { openToolbox } from '../../../src/environments/tools/toolbox.ts';
import { change, changed, hostileText, hostileValue, RAW_TEXTS, write } from '../hostile-values.ts';
import { Broken, target } from '../target.ts';

interface Said {
  readonly profile: ToolProfile;
  readonly response: string;
}

/** A tool whose schema has something of everything that is checked. */
const strict: Tool = {
  name: 'strict',
  description: 'Takes what its schema says.',
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 1_000, pattern: '^(a+)+$' },
      count: { type: 'integer', minimum: 0 },
      kind: { enum: ['a', 1, null] },
      list: { type: 'array', items: { type: 'object', required: ['x'] }, uniqueItems: true },
    },
    required: ['text'],
    additionalProperties: false,
  },
  execute: ({ text }) => String(text),
};
const python: Tool = {
  name: 'python',
  description: 'Says how long a program is.',
  parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
  execute: ({ code }) => `${String(code).length}`,
};

const CALLS = [
  { name: 'calculator', arguments: { expression: '(1 + 2) * sqrt(3)' } },
  { name: 'strict', arguments: { text: 'aaaa', count: 1, kind: 'a', list: [{ x: 1 }] } },
  { name: 'python', arguments: { code: 'print(1)' } },
];
const tagged = (text: string) => `<think>x</think>\n<tool_call>\n${text}\n</tool_call>`;
const MANY = 100_000;
const PATTERNS: readonly string[] = [
  ...[
    '<tool_call>'.repeat(MANY),
    '</tool_call>'.repeat(MANY),
    `${'<tool_call>{}'.repeat(20_000)}</tool_call>`,
    '<tool_call></tool_call>'.repeat(20_000),
  ],
  ...[
    '<code>\n'.repeat(MANY),
    `<code>\n${'x\n'.repeat(MANY)}</code>`,
    '<'.repeat(MANY),
    `<tool_call>${' '.repeat(MANY)}</tool_call>`,
    '<think>'.repeat(MANY),
  ],
  tagged(write({ name: 'strict', arguments: { text: `${'a'.repeat(900)}!` } })),
  tagged(write({ name: 'calculator', arguments: { expression: '('.repeat(1_000) } })),
  tagged(write({ name: 'calculator', arguments: { expression: `${'('.repeat(480)}1${')'.repeat(480)}` } })),
  tagged(write({ name: 'calculator', arguments: { expression: '9**9**9**9**9' } })),
  tagged(write({ name: 'calculator', arguments: { expression: '-'.repeat(999) + 1 } })),
  ...[
    'this.constructor',
    'constructor',
    '__proto__',
    '[1][0]',
    'a.b',
    "'x'+'y'",
    '1;2',
    'round(1, 1e308)',
    'max()',
    '0/0',
    '1//0',
    'x=>1',
    '`x`',
    'new Date',
  ].map((expression) => tagged(write({ name: 'calculator', arguments: { expression } }))),
  tagged(write({ name: 'strict', arguments: { text: 'a', list: Array.from({ length: 3_000 }, (_, i) => ({ x: i })) } })),
  tagged(`{"name":"strict","arguments":{${Array.from({ length: 20_000 }, (_, i) => `"k${i % 7}":1.5`).join(',')}}}`),
];

/** Arithmetic of any shape, mostly right: what a calculator computes, not only what it refuses. */
const expressions: fc.Arbitrary<string> = fc.letrec<{ all: string }>((tie) => ({
  all: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(fc.double(), fc.integer(), fc.constantFrom('1e308', '5e-324', '0x10', '1_0', '.5', '5.', 'pi', 'x', '')).map(String),
    fc
      .tuple(tie('all'), fc.constantFrom('+', '-', '*', '/', '//', '%', '**', '^', ',', ' '), tie('all'))
      .map((parts) => parts.join(' ')),
    fc
      .tuple(fc.constantFrom('', '-', '+', 'sqrt', 'round', 'max', 'log', 'abs', 'toString', '['), tie('all'))
      .map(([name, of]) => `${name}(${of})`),
  ),
})).all;

/** Calls as models write them, several in one turn, between other words and in tags that do not close. */
const turns: fc.Arbitrary<string> = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(...CALLS).map(write),
        fc.tuple(fc.constantFrom(...CALLS), change).map(([call, one]) => write(changed(call, one))),
      ),
      fc.constantFrom('<tool_call>\n', '<tool_call>', '<tool_call>', '<code>\n', '```python\n', '<think>', ''),
      fc.constantFrom('\n</tool_call>', '</tool_call>', '</tool_call>', '\n</code>', '\n```', '</think>', ''),
      fc.oneof(
        fc.constantFrom('', '\n'),
        hostileText.map((text) => text.slice(0, 300)),
      ),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((calls) => calls.map(([call, open, close, behind]) => `${open}${call}${close}${behind}`).join(''));

const responses = fc.oneof(
  { weight: 3, arbitrary: expressions.map((expression) => tagged(write({ name: 'calculator', arguments: { expression } }))) },
  { weight: 4, arbitrary: turns },
  { weight: 2, arbitrary: fc.tuple(turns, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))) },
  { weight: 1, arbitrary: fc.constantFrom(...RAW_TEXTS).map(tagged) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(...CALLS), fc.array(change, { maxLength: 3 }))
      .map(([call, all]) => tagged(write(all.reduce<unknown>(changed, call)))),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(
        fc.constantFrom(
          '<tool_call>',
          '</tool_call>',
          '<code>',
          '</code>',
          '\n',
          '```',
          '{"name": "calculator", "arguments": {"expression": "1"}}',
          '{',
          '"',
          '<think>',
          '\u0000',
          '\ud800',
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('calculator', 'strict', 'python', 'constructor', '__proto__'), hostileValue)
      .map(([name, given]) => tagged(write({ name, arguments: given }))),
  },
  {
    weight: 1,
    arbitrary: hostileText.map((expression) =>
      tagged(write({ name: 'calculator', arguments: { expression: expression.slice(0, 1_000) } })),
    ),
  },
  { weight: 1, arbitrary: hostileText },
);

/** What a model says, read, checked and run as tool calls in every profile. */
export const toolTarget = target<Said>({
  name: 'tool calls',
  always: TOOL_PROFILES.flatMap((profile) => PATTERNS.map((response): Said => ({ profile, response }))),
  cases: fc.record({ profile: fc.constantFrom(...TOOL_PROFILES), response: responses }),
  way: {
    process: 'inside',
    async within(_world, { profile, response }) {
      const toolbox = openToolbox([calculator(), strict, python], profile === 'seed' ? 'seed' : 'full');
      const turn = await answerTurn({ profile, parallel: true, paysCalls: true, toolbox }, response, {
        timeoutMs: 5_000,
        signal: AbortSignal.timeout(60_000),
        clock: () => 0,
      });
      for (const result of turn.results) if (typeof result !== 'string') throw new Broken(`a result is ${typeof result}`);
      if (turn.reward !== null && !Number.isFinite(turn.reward)) throw new Broken(`paid ${turn.reward}`);
      if (turn.calls.length > 40) throw new Broken(`${turn.calls.length} calls are recorded`);
      const failed = turn.calls.find(({ outcome }) => outcome !== 'ok');
      if (failed === undefined) return { kind: 'accepted', appended: 0 };
      return { kind: 'refused', code: failed.outcome };
    },
  },
});
