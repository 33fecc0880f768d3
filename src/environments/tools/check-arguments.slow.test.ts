import { describe, expect, test } from '@jest/globals';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { checkArguments } from './check-arguments.ts';

const check = (parameters: { readonly [name: string]: Json }, given: Json) =>
  checkArguments({ name: 't', parameters }, 'full')({ arguments: given, floats: new Map(), text: '{}' });

describe('validation by the whole schema', () => {
  const parameters = {
    type: 'object',
    properties: {
      query: { type: 'string', minLength: 1, format: 'email' },
      k: { type: 'integer', minimum: 1 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true },
    },
    required: ['query'],
    additionalProperties: false,
  };
  test.each<[Json, string | null]>([
    [{ query: 'x' }, null], // a format is a note
    [{ query: 'x', k: 2, tags: ['a', 'b'] }, null],
    [{ query: '' }, 'query must NOT have fewer than 1 characters'],
    [{ query: 'x', k: true }, 'k must be integer'],
    [{ query: 'x', k: 0 }, 'k must be >= 1'],
    [{ query: 'x', tags: ['a', 'a'] }, 'must NOT have duplicate items'],
    [{ query: 'x', other: 1 }, 'must NOT have additional properties'],
    [{}, "must have required property 'query'"],
    ['query', 'must be object'],
    [null, 'must be object'],
  ])('the arguments %j are validated by the whole schema', (given, problem) => {
    const found = check(parameters, given);
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });
});

test.each([
  ['http://json-schema.org/draft-07/schema#', { items: [{ type: 'string' }], additionalItems: false }],
  ['http://json-schema.org/draft-06/schema', { items: [{ type: 'string' }], additionalItems: false }],
  ['https://json-schema.org/draft/2019-09/schema', { items: [{ type: 'string' }], additionalItems: false }],
  ['https://json-schema.org/draft/2020-12/schema', { prefixItems: [{ type: 'string' }], items: false }],
])('a schema that names the draft %s is read as one of it', (draft, pair) => {
  const parameters = { $schema: draft, type: 'object', properties: { pair: { type: 'array', ...pair } } };
  expect(check(parameters, { pair: ['a'] })).toBeNull();
  expect(check(parameters, { pair: [1] })).toContain('pair/0 must be string');
  expect(check(parameters, { pair: ['a', 'b'] })).toContain('must NOT have more than 1 items');
});

test('a draft that is not known is refused', () => {
  const parameters = { $schema: 'http://json-schema.org/draft-03/schema#', type: 'object' };
  expect(() => check(parameters, {})).toThrow('its parameters are no JSON Schema');
});

test('a pattern that would run for ever is stopped', () => {
  const parameters = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } };
  expect(check(parameters, { x: 'aaaa' })).toBeNull();
  expect(check(parameters, { x: `${'a'.repeat(60)}!` })).toContain('a pattern took longer than 100 ms');
});

test.each<[string, { readonly [name: string]: Json }]>([
  ['an unknown type', { type: 'objekt' }],
  ['a broken pattern', { type: 'object', properties: { x: { type: 'string', pattern: '(' } } }],
  ['a reference to nowhere', { $ref: 'http://example.test/other.json' }],
])('a schema with %s is refused when the tool is opened', (_what, parameters) => {
  expect(() => check(parameters, {})).toThrow('tool t: its parameters are no JSON Schema');
});

test('arguments of a megabyte are refused unread', () => {
  const call = { arguments: {}, floats: new Map(), text: 'x'.repeat(1_000_000) };
  expect(checkArguments({ name: 't', parameters: { type: 'object' } }, 'seed')(call)).toContain('longer than');
});
