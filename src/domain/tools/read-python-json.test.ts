import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Floats, readPythonJson } from './read-python-json.ts';

const readValue = (text: string) => {
  const read = readPythonJson(text);
  return read.kind === 'value' ? read.value : 'broken';
};

// Seen with CPython 3.11's json.loads.
test.each<[string, unknown]>([
  ['NaN', Number.NaN],
  ['[Infinity, -Infinity]', [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  ['{"a": 1, "a": 2}', { a: 2 }],
  ['"\\ud83d\\ude00"', '😀'],
  ['"\\ud83d"', '\ud83d'],
  [' \t\n\r1', 1],
  ['\u00a01', 'broken'],
  ['\ufeff1', 'broken'],
  ['"\u2028\u007f"', '\u2028\u007f'],
  ['"a\nb"', 'broken'],
  ['"\\x41"', 'broken'],
  ['"\\u00e"', 'broken'],
  ['01', 'broken'],
  ['1.', 'broken'],
  ['.5', 'broken'],
  ['+1', 'broken'],
  ['-NaN', 'broken'],
  ['nan', 'broken'],
  ["{'a': 1}", 'broken'],
  ['[1,]', 'broken'],
  ['{"a": 1,}', 'broken'],
  ['{"a" 1}', 'broken'],
  ['', 'broken'],
  ['1 2', 'broken'],
])('the JSON text %j is read as in Python', (text, value) => {
  expect(readValue(text)).toEqual(value);
});

test('JSON written by JavaScript is read unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(readValue(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('a name of the prototype is an ordinary name', () => {
  const read = readValue('{"__proto__": {"polluted": 1}, "constructor": 2}');
  expect(Object.getOwnPropertyNames(read)).toEqual(['__proto__', 'constructor']);
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
});

test('floats are distinguished from integers, and the last value of a repeated name counts', () => {
  const read = readPythonJson('{"a": 1.0, "b": [1, 2e0, {"c/d~": -0.5}], "e": 7, "a": 2, "e": 7.0}');
  expect(read.kind === 'value' ? read.floats : null).toEqual(
    new Map<string, Floats>([
      [
        'b',
        new Map<string, Floats>([
          ['1', 'float'],
          ['2', new Map([['c/d~', 'float' as const]])],
        ]),
      ],
      ['e', 'float'],
    ]),
  );
});

test('the text of a member is kept as written, big integers included', () => {
  const read = readPythonJson('{"name": "x", "arguments": {"n": 123456789012345678901234567890 , "x": NaN} }');
  expect(read.kind === 'value' ? read.members.get('arguments') : null).toBe('{"n": 123456789012345678901234567890 , "x": NaN}');
});

test('the depth of JSON is bounded, its length is not', () => {
  expect(readValue('['.repeat(100_000))).toBe('broken');
  expect(readValue(`${'['.repeat(200)}1${']'.repeat(200)}`)).not.toBe('broken');
  expect(readValue(`"${'x'.repeat(2_000_000)}"`)).toHaveLength(2_000_000);
  expect(readValue(`[${'1,'.repeat(300_000)}1]`)).toHaveLength(300_001);
});
