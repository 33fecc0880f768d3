import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { changeJsonText, jsonText, lossesOfText, parseJsonText, setJsonMembers } from './json-text.ts';

test.each([
  '{"n": 12345678901234567890}',
  '{"n": [1.0, -0, 1e400, 1E5, 0.10]}',
  '{"a":1, "b":{"c":1}, "a":2}',
  '{"n": 0.1000000000000000055511151231257827}',
  '{"n": 0.0000001}',
])('the value of a member that is %s is written as it came, also from a copy of what holds it', (text) => {
  const whole = parseJsonText(`{"text": "1.0", "part": ${text}}`) as { readonly part: unknown }; // as just written
  expect(jsonText(whole.part)).toBe(text);
  expect(jsonText({ ...whole })).toBe(`{"text":"1.0","part":${text}}`);
});

test.each([
  ['{"a": {"n": 1.0}, "a": {"n": 1}}', '{"n": 1}'],
  ['{"a": {"x": {"n": 1.0}}, "a": {"x":  {"n": 1}}}', '{"x":  {"n": 1}}'],
])('of members of one key that are %s the last is the value', (text, last) => {
  expect(jsonText((parseJsonText(text) as { readonly a: unknown }).a)).toBe(last); // as just written
});

test('a deep text with many numbers beyond the doubles is read at once', () => {
  const deep = 50_000;
  const text = `${'['.repeat(deep)}${'1e400,'.repeat(deep)}0${']'.repeat(deep)}`;
  const began = performance.now();
  expect(jsonText(parseJsonText(text))).toBe(text);
  expect(performance.now() - began).toBeLessThan(10_000); // to name the place of each takes longer
});

test('what numbers a reader of JSON loses of a text, and which keys occur twice, is told by paths', () => {
  const text = '{"a": [1e400], "b": 12345678901234567890, "c": {"d": 1, "d": 2}}';
  expect(lossesOfText(parseJsonText(text) as object)).toEqual([
    'a.0 is 1e400, which is beyond the range of a double',
    'b is 12345678901234567890, which a reader of JSON takes for 12345678901234567168',
    'c.d occurs twice in its object',
  ]);
});

test('any value is written as JSON, and its text is that which came', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(JSON.parse(jsonText(value))).toEqual(JSON.parse(text));
      const isContainer = typeof value === 'object' && value !== null;
      expect(jsonText(parseJsonText(text))).toBe(isContainer ? text : JSON.stringify(value));
    }),
  );
});

test('members that are taken out, replaced or added leave the rest of a text as it is', () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(value, value, fc.constantFrom(0, 2), (before, members, indent) => {
      const text = JSON.stringify(before, null, indent);
      expect(changeJsonText(text, () => undefined)).toBe(text);
      const written = Object.fromEntries(Object.entries(members).map(([key, each]) => [key, JSON.stringify(each)]));
      expect(JSON.parse(setJsonMembers(text, written))).toEqual(JSON.parse(JSON.stringify({ ...before, ...members })));
      expect(JSON.parse(changeJsonText(text, (key) => (Object.hasOwn(members, key) ? null : undefined)))).toEqual(
        JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(before).filter(([key]) => !Object.hasOwn(members, key))))),
      );
    }),
  );
});
