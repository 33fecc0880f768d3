import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ProjectionFlag, projectResponse } from './project-response.ts';
import type { TemplateName } from './prompt-template.ts';

const T = '<think>x</think>';
const A = '<action>look</action>';
const cf = (text: string): string => `<compression>${text}</compression>`;
type Row = readonly [
  rule: string,
  response: string,
  action: string,
  valid: boolean,
  factor: number,
  flags: readonly ProjectionFlag[],
];

const check = (name: TemplateName, [, response, action, valid, factor, flags]: Row): void => {
  expect(projectResponse(name, response, { compression: true })).toMatchObject({ action, valid, factor, flags });
  // With compression off there is no factor, and its tags are not counted.
  const others = flags.filter((flag) => flag !== 'factor-forced' && flag !== 'repeated-compression-tag');
  expect(projectResponse(name, response, { compression: false })).toMatchObject({
    action,
    valid: valid || (others.length === 0 && flags.includes('repeated-compression-tag')),
    factor: 1,
    reading: null,
    flags: others,
  });
};

// specification of AgentOCR, V7: printed by the reference's own functions.
const ALFWORLD_PUBLISHED: readonly Row[] = [
  ['an action is read in lower case', `${T}<action>Go To Desk 1</action>${cf('1.5')}`, 'go to desk 1', true, 1.5, []],
  ['a missing factor is 1 and no fault', `${T}${A}`, 'look', true, 1, []],
  ['an answer without a thought is invalid, and its factor is still read', `${A}${cf('2.0')}`, 'look', false, 2, ['no-think']],
  ['a factor above the range is 5', `${T}${A}${cf('7')}`, 'look', true, 5, []],
  ['a factor below the range is 1', `${T}${A}${cf('0.5')}`, 'look', true, 1, []],
  ['nan is no factor', `${T}${A}${cf('nan')}`, 'look', true, 1, []],
  ['inf is no factor', `${T}${A}${cf('inf')}`, 'look', true, 1, []],
  ['a decimal comma is no factor', `${T}${A}${cf('1,5')}`, 'look', true, 1, []],
  ['1_0 is ten, as Python has it', `${T}${A}${cf('1_0')}`, 'look', true, 5, []],
  [
    'the first of two factors is read, and the answer is invalid',
    `${T}${A}${cf('1.5')}${cf('2')}`,
    'look',
    false,
    1.5,
    ['repeated-compression-tag'],
  ],
  [
    'two actions count as none, and have no factor',
    `${T}${A}<action>go</action>${cf('2')}`,
    '',
    false,
    1,
    ['repeated-action-tag', 'factor-forced'],
  ],
  ['a thought tag in upper case does not count', `<THINK>x</THINK>${A}`, 'look', false, 1, ['no-think']],
  [
    'an action that the world does not list is still valid',
    `${T}<action>fly to the moon</action>`,
    'fly to the moon',
    true,
    1,
    [],
  ],
  ['an answer with a CJK ideograph is not valid', `<think>看</think>${A}`, 'look', false, 1, ['cjk']],
  ['a closing tag before the opening one encloses nothing, validly', `</action>${T}<action>look`, '', true, 1, ['empty-action']],
];

const ALFWORLD_MORE: readonly Row[] = [
  ['tags of the action count in any case', `${T}<ACTION>Look</Action>`, 'look', true, 1, []],
  ['Python white space around an action is stripped', `${T}<action>\u001c\u0085look\u00a0</action>`, 'look', true, 1, []],
  ['an answer without an action has none', T, '', false, 1, ['no-action']],
  ['an unclosed action does not count', `${T}<action>look`, '', false, 1, ['no-action']],
  ['empty tags are a valid action', `${T}<action> </action>`, '', true, 1, ['empty-action']],
  ['two thoughts are one too many', `${T}${T}${A}`, 'look', false, 1, ['repeated-think-tag']],
  ['an unclosed thought does not count', `<think>${A}`, 'look', false, 1, ['no-think']],
  ['a repeated tag counts in any case', `${T}${A}<Action>${cf('2')}`, '', false, 1, ['repeated-action-tag', 'factor-forced']],
  [
    'a second opening compression tag is one too many',
    `${T}${A}<compression>${cf('2')}`,
    'look',
    false,
    1,
    ['repeated-compression-tag'],
  ],
  ['kana is no ideograph', `<think>かな</think>${A}`, 'look', true, 1, []],
  ['every fault is flagged', `${A}${A}看`, '', false, 1, ['repeated-action-tag', 'no-think', 'cjk', 'factor-forced']],
];

const SEARCH_PUBLISHED: readonly Row[] = [
  ['a query is read without blanks around it', `${T}<search> q </search>${cf('1.3')}`, '<search>q</search>', true, 1.3, []],
  [
    'an answer ends the episode, so it has no factor',
    `${T}<answer> Canary </answer>${cf('3')}`,
    '<answer>Canary</answer>',
    true,
    1,
    ['factor-forced'],
  ],
  [
    'an answer next to a search yields the search, flagged as invalid',
    `<answer>b</answer><search>a</search>${cf('2')}`,
    '<search>a</search>',
    false,
    2,
    ['search-and-answer'],
  ],
  ['a text without a tag has no action, and its factor is read', `hm${cf('2')}`, '', false, 2, ['no-action']],
  ['tags count in any case', '<SEARCH>a</SEARCH>', '<search>a</search>', true, 1, []],
];

const SEARCH_MORE: readonly Row[] = [
  [
    'the first of two searches is read and flagged as invalid',
    '<search>a</search><search>b</search>',
    '<search>a</search>',
    false,
    1,
    ['repeated-search-tag'],
  ],
  [
    'what follows the first search is cut off, and still counted',
    `<search>a</search><information>x</information><answer>b</answer>`,
    '<search>a</search>',
    false,
    1,
    ['search-and-answer'],
  ],
  [
    'the first of two answers is read and flagged as invalid, without a factor',
    `<answer>a</answer><answer>b</answer>${cf('2')}`,
    '<answer>a</answer>',
    false,
    1,
    ['repeated-answer-tag', 'factor-forced'],
  ],
  ['a closing tag before the opening one cuts the search off', '</search><search>a</search>', '', false, 1, ['no-action']],
  ['a query keeps its line breaks', '<search>a\nb</search>', '<search>a\nb</search>', true, 1, []],
  ['neither a thought nor a script is required', '<search>看</search>', '<search>看</search>', true, 1, []],
  ['a repeated factor is no fault here', `<search>a</search>${cf('2')}${cf('3')}`, '<search>a</search>', true, 2, []],
];

const TEXTCRAFT: readonly Row[] = [
  ['a command is read with its factor', `Thought: t\nAction: get 2 reed\n${cf('1.4')}`, 'get 2 reed', true, 1.4, []],
  ['a factor on the line of the command is removed', `Thought: t\nAction: get 2 reed ${cf('1.4')}`, 'get 2 reed', true, 1.4, []],
  [
    'an invented observation is cut off',
    `Action: get 1 a\nObservation: b${cf('2')}`,
    'get 1 a',
    false,
    2,
    ['not-well-formatted'],
  ],
  ['a missing command is flagged', `Thought: t\nAction:\n${cf('2')}`, '', false, 2, ['no-action']],
];

const WEBSHOP: readonly Row[] = [
  ['the first of two actions is read, validly', `${T}${A}<action>go</action>`, 'look', true, 1, []],
  ['two thoughts are valid', `${T}${T}${A}`, 'look', true, 1, []],
  ['a second pair of compression tags is valid', `${T}${A}${cf('1.5')}${cf('2')}`, 'look', true, 1.5, []],
  ['an answer without a thought is invalid', A, 'look', false, 1, ['no-think']],
  ['an answer with a CJK ideograph is not valid', `<think>看</think>${A}`, 'look', false, 1, ['cjk']],
  ['a closing tag before the opening one encloses nothing, validly', `</action>${T}<action>look`, '', true, 1, ['empty-action']],
];

describe('WebShop', () => {
  test.each(WEBSHOP)('%s', (...row) => check('webshop', row));
});
describe('ALFWorld', () => {
  test.each([...ALFWORLD_PUBLISHED, ...ALFWORLD_MORE])('%s', (...row) => check('alfworld', row));
});
describe('Search', () => {
  test.each([...SEARCH_PUBLISHED, ...SEARCH_MORE])('%s', (...row) => check('search-qa', row));
});
describe('TextCraft', () => {
  test.each(TEXTCRAFT)('%s', (...row) => check('textcraft', row));
});

test('the thought is the content of its tags, or else the text before the first other tag', () => {
  const thought = (response: string): string => projectResponse('alfworld', response, { compression: false }).thought;
  expect(thought(`<think> a\nb </think>${A}`)).toBe('a\nb');
  expect(thought(`I look. ${A}`)).toBe('I look.');
  expect(thought('<THINK>x</THINK>')).toBe('x');
  expect(projectResponse('textcraft', 'Thought: t\nAction: inventory', { compression: false }).thought).toBe('t');
});

test('no answer throws; the factor stays in its range, and a flag explains why an answer is invalid', () => {
  const piece = fc.constantFrom('<think>', '</think>', '<action>', '</action>', '<search>', '</search>', '<answer>', '</answer>');
  const more = fc.constantFrom(
    '<compression>',
    '</compression>',
    '1.5',
    '9',
    'nan',
    ' ',
    '\n',
    'Action:',
    'look',
    '看',
    '\ud800',
    'İ',
  );
  const response = fc.array(fc.oneof(piece, more), { maxLength: 16 }).map((pieces) => pieces.join(''));
  const name = fc.constantFrom<TemplateName>('alfworld', 'search-qa', 'webshop', 'textcraft');
  fc.assert(
    fc.property(name, fc.oneof(response, fc.string({ unit: 'binary' })), (world, text) => {
      const { valid, factor, flags } = projectResponse(world, text, { compression: true });
      expect(factor).toBeGreaterThanOrEqual(1);
      expect(factor).toBeLessThanOrEqual(5);
      const broken = flags.filter((flag) => flag !== 'empty-action' && flag !== 'factor-forced');
      expect(valid).toBe(broken.length === 0);
    }),
  );
});

test('in WebShop an answer without tags is invalid, and its last twenty characters are what is tried', () => {
  const read = (response: string) => projectResponse('webshop', response, { compression: false });
  expect(read('<think>x</think><action>Click[< Prev]</action>')).toMatchObject({ action: 'click[< prev]', valid: true });
  expect(read('I had better SEARCH[red running shoes]')).toMatchObject({
    action: 'h[red running shoes]',
    valid: false,
    flags: ['no-action', 'no-think'],
  });
});
