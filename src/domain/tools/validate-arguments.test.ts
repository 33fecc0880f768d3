import { expect, test } from '@jest/globals';
import { validateSeedArguments } from './parse-calls.ts';
import { readPythonJson } from './read-python-json.ts';

const schema = {
  type: 'object',
  properties: {
    s: { type: 'string' },
    n: { type: 'number' },
    i: { type: 'integer' },
    b: { type: 'boolean' },
    a: { type: 'array' },
    o: { type: 'object' },
    e: { type: 'string', enum: ['x', 'y'] },
    u: { type: 'unheard-of' },
  },
  required: ['s'],
};

test.each<[string, string | null]>([
  ['{"s": "x"}', null],
  ['{"s": "x", "extra": 1}', null],
  ['{"s": "x", "i": true, "n": false}', null], // Python's bool is an int
  ['{"s": "x", "b": 1}', 'Parameter b has incorrect type, should be boolean'],
  ['{"s": "x", "i": 1.0}', 'Parameter i has incorrect type, should be integer'],
  ['{"s": "x", "i": 12345678901234567890}', null],
  ['{"s": "x", "n": NaN}', null],
  ['{"s": "x", "n": "1"}', 'Parameter n has incorrect type, should be number'],
  ['{"s": "x", "a": {}}', 'Parameter a has incorrect type, should be array'],
  ['{"s": "x", "o": []}', 'Parameter o has incorrect type, should be object'],
  ['{"s": "x", "o": null}', 'Parameter o has incorrect type, should be object'],
  ['{"s": "x", "u": null}', null],
  ['{"s": "x", "e": "z"}', 'Parameter e has invalid value, should be one of: x, y'],
  ['{"s": null}', 'Parameter s has incorrect type, should be string'],
  ['{}', 'Missing required parameter: s'],
  ['[]', 'Arguments must be a dictionary'],
  ['"s"', 'Arguments must be a dictionary'],
])('the arguments %s are validated as in Python', (text, message) => {
  const read = readPythonJson(text);
  expect(read.kind === 'value' ? validateSeedArguments(read.value, schema, read.floats) : 'broken').toBe(message);
});
