import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { unsafePart } from './unsafe-part.ts';

test('ordinary JSON is safe, including the names constructor and prototype', () => {
  expect(unsafePart(JSON.parse('{"a":[{"constructor":{"prototype":1}}],"b":null}'))).toBeUndefined();
});

test.each([
  ['{"a":{"__proto__":{"x":1}}}', 'a', '__proto__'],
  ['{"a":[{"x\\u0000":1}]}', 'a.0', 'NUL'],
  ['{"\\ud800":1}', '', 'half surrogate'],
])('%s is unsafe', (text, path, word) => {
  expect(unsafePart(JSON.parse(text))).toEqual({ path, message: expect.stringContaining(word) });
});

test('nesting is reported at its limit, however deep it is', () => {
  const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
  expect(unsafePart(JSON.parse(deep))?.message).toBe('is nested more than 64 deep');
});

test('any JSON value is inspected without an exception', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void unsafePart(value)));
});
