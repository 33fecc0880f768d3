import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { jsonLoss, jsonLosses } from './json-loss.ts';

const lossOf = (text: string) => jsonLoss(text, JSON.parse(text));

test.each([
  ['{"seed":1234567890123456789}', 'seed', 'is 1234567890123456789, which a reader of JSON takes for 1234567890123456768'],
  [
    '[{"a":[1,{"b c":-9007199254740993}]}]',
    '0.a.1.b c',
    'is -9007199254740993, which a reader of JSON takes for -9007199254740992',
  ],
  ['{"a":{"x":1e400}}', 'a.x', 'is 1e400, which is beyond the range of a double'],
  ['{"a":1,"b":{"c":"","c":2}}', 'b.c', 'occurs twice in its object'],
  ['{"a":1,"a" :2}', 'a', 'occurs twice in its object'],
  [String.raw`{"a\\":1,"a\\":2}`, 'a\\', 'occurs twice in its object'],
  ['{ "a" : [1, 2], "\\u0061" : 3 }', 'a', 'occurs twice in its object'],
])('%s loses what is at %s', (text, path, message) => {
  expect(lossOf(text)).toMatchObject({ path, message });
});

test.each([
  '{"a":9007199254740992,"b":10000000000000000000000,"c":0.1000000000000000055,"d":1e-400,"e":1e99}',
  String.raw`{"a\\":"1234567890123456789 \":","b":{"a":1},"c":[{"a":1},{"a":1}]}`,
  '"1234567890123456789"',
  '[]',
])('%s loses nothing', (text) => {
  expect(lossOf(text)).toBeUndefined();
});

test('numbers of keys that are ignored are no losses', () => {
  const text = `{"spans": [${'{"timeUnixNano": 1700000000000000001},'.repeat(30)}{"n": 1e400}]}`;
  expect(jsonLosses(text, JSON.parse(text), (key) => key.endsWith('UnixNano'))).toEqual([
    'spans.30.n is 1e400, which is beyond the range of a double',
  ]);
});

test('what is written by a writer of JSON loses nothing, compact or indented', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
      expect(lossOf(JSON.stringify(JSON.parse(text), null, indent))).toBeUndefined();
    }),
  );
});

test('a key written twice is found beside any text', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', ':', ' ', 'a', '1e400') });
  fc.assert(
    fc.property(text, text, text, (key, value, other) => {
      const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
      expect(lossOf(`{${member},${JSON.stringify(`${key}!`)}:${JSON.stringify(other)}}`)).toBeUndefined();
      expect(lossOf(`{${member},${JSON.stringify(key)}:${JSON.stringify(other)}}`)).toMatchObject({ path: expect.any(String) });
    }),
  );
});
