import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseReact } from './parse-react.ts';

const { cases } = JSON.parse(readFileSync(new URL('./fixtures/16_parse_react.json', import.meta.url), 'utf8')) as {
  cases: readonly { input: string; thought: string; action: string }[];
};

describe('parseReact', () => {
  test.each(cases)('parseReact splits $input as the original does', ({ input, thought, action }) => {
    expect(parseReact(input)).toEqual({ thought, action });
  });

  test('a text without a marker is all thought, unchanged', () => {
    expect(parseReact(' look around ')).toEqual({ thought: ' look around ', action: '' });
    expect(parseReact('Thought: search[ is a button')).toEqual({ thought: '', action: 'Thought: search[ is a button' });
  });

  test('the thought is the text between the first two thought markers', () => {
    expect(parseReact('x Thought: a Thought: b Action: c')).toEqual({ thought: 'a', action: 'c' });
  });
});
