import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseThoughtAction } from './parse-thought-action.ts';

const rows: readonly (readonly [rule: string, response: string, thought: string, action: string, wellFormatted: boolean])[] = [
  [
    'a thought and an action are read from their lines',
    'Thought: I need reed\nAction: get 2 reed',
    'I need reed',
    'get 2 reed',
    true,
  ],
  ['labels may occupy lines of their own', 'Thought:\nI need reed\n\nAction:\nget 2 reed\n', 'I need reed', 'get 2 reed', true],
  ['an action needs no thought', 'Action: inventory', '', 'inventory', true],
  ['an invented observation is cut off', 'Thought: t\nAction: get 1 a\nObservation: Got 1 a', 't', 'get 1 a', false],
  [
    'the last marker counts',
    'Action: get 1 a\nObservation: x\nAction: get 1 b',
    'Action: get 1 a\nObservation: x',
    'get 1 b',
    false,
  ],
  ['numbered labels are labels', 'Thought 1: t\nAction 1: get 1 a', 't', 'get 1 a', true],
  ['a list number is removed', 'Action: 1. craft 1 rod using 2 beam', '', 'craft 1 rod using 2 beam', true],
  ['end-of-turn marks, quotes and a full stop are removed', 'Action: `get 1 a.`. </s>', '', 'get 1 a', true],
  ['bold marks around the whole action are removed', 'Action: **get 1 a**', '', 'get 1 a', true],
  ['runs of blanks become one', 'Action:  get  2\treed', '', 'get 2 reed', true],
  ['names keep their characters', 'Action: get 1 minecraft:oak_logs', '', 'get 1 minecraft:oak_logs', true],
  [
    'the last line with text is the action where there is no marker',
    'I will look.\ninventory\n\n',
    'I will look.',
    'inventory',
    false,
  ],
  ['a blank action is kept as such', 'Thought: t\nAction:', 't', '', false],
  ['an empty response has an empty action', '', '', '', false],
];

test.each(rows)('%s', (_rule, response, thought, action, wellFormatted) => {
  expect(parseThoughtAction(response)).toEqual({ thought, action, wellFormatted });
});

test('no response throws, and an action is one line without surrounding blanks', () => {
  const piece = fc.constantFrom(
    'Action:',
    'Thought:',
    'Action 2:',
    '\n',
    ' ',
    '</s>',
    'get 1 a',
    '.',
    '"',
    '1.',
    '\r\n',
    '\u2028',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(piece).map((pieces) => pieces.join('')),
      ),
      (response) => {
        const { action } = parseThoughtAction(response);
        expect(action).toBe(action.trim());
        expect(action).not.toMatch(/[\r\n]/);
      },
    ),
  );
});

test('quotes are removed in one pass, as by the pattern with a back reference', () => {
  const asPattern = (line: string) =>
    line
      .replace(/ ?\.$/, '')
      .replace(/^(["'`*]+)(.*?)\1$/, '$2')
      .replace(/ ?\.$/, '')
      .trim();
  const line = fc
    .array(fc.constantFrom('"', "'", '`', '*', 'a', ' ', '.'), { maxLength: 14 })
    .map((parts) => parts.join('').replaceAll(/ +/g, ' ').trim());
  fc.assert(
    fc.property(line, (text) => expect(parseThoughtAction(`Action: ${text}`).action).toBe(asPattern(text))),
    {
      numRuns: 375,
    },
  );
});
