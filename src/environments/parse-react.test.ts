import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseReact } from './parse-react.ts';

const { cases } = JSON.parse(readFileSync(new URL('./fixtures/16_parse_react.json', import.meta.url), 'utf8')) as {
  cases: readonly { input: string; thought: string; action: string }[];
};

describe('parseReact', () => {
  test.each(cases)('splits as the original does: $input', ({ input, thought, action }) => {
    expect(parseReact(input)).toEqual({ thought, action });
  });

  test('without a marker all is thought, as it stands', () => {
    expect(parseReact(' look around ')).toEqual({ thought: ' look around ', action: '' });
    expect(parseReact('Thought: search[ is a button')).toEqual({ thought: '', action: 'Thought: search[ is a button' });
  });

  test('the thought is what lies between the first two thought markers', () => {
    expect(parseReact('x Thought: a Thought: b Action: c')).toEqual({ thought: 'a', action: 'c' });
  });
});
