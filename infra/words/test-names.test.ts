import { describe, expect, test } from '@jest/globals';
import { testNamesIn } from './test-names.ts';

const namesOf = (text: string) => testNamesIn('a.test.ts', text).map(({ name, kind }) => `${kind}: ${name}`);

describe('the names of a test file', () => {
  test('groups and tests are listed by their titles, skipped ones and those of `it` included', () => {
    expect(
      namesOf(`describe('a', () => {\n  test('a bird sings', () => {});\n  it.skip("a cat sleeps", async () => {});\n});`),
    ).toEqual(['group: a', 'test: a bird sings', 'test: a cat sleeps']);
  });

  test('a table is listed by its title', () => {
    const text =
      "describe.each(x)('a %s', (n) => {\n  test.each([\n    [1],\n  ] as const)(\n    'b %i',\n    async () => {},\n  );\n});";
    expect(namesOf(text)).toEqual(['group: a %s', 'test: b %i']);
  });

  test('a table whose title is a label alone is listed by its labels, named and spread ones included', () => {
    const more = "const more = [\n  ['c', 2],\n] as const;\n";
    expect(namesOf(`${more}test.each([\n  ['a', ['x']],\n  [\n    "b",\n  ],\n  ...more,\n])('%s', () => {});`)).toEqual([
      'test: a',
      'test: b',
      'test: c',
    ]);
    expect(namesOf(`${more}test.each(more)('%s', () => {});`)).toEqual(['test: c']);
  });

  test('an expression within a title is left open', () => {
    expect(namesOf('test(`records in \u0024{codec} are read`, () => {});')).toEqual(['test: records in … are read']);
  });

  test('other calls are not listed', () => {
    expect(
      namesOf("pattern.test('a'); expect('b').toBe(c); record('d', () => {}); table['e']('f', () => {}); test.each(['g']);"),
    ).toEqual([]);
  });

  test('the names of Python tests are listed as words', () => {
    expect(testNamesIn('tests/test_a.py', 'class A:\n    def test_a_frame_is_read(self):\n        pass\n')).toEqual([
      { name: 'a frame is read', kind: 'test' },
    ]);
  });
});
