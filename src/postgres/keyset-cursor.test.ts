import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareKeys, cursorOf, InvalidCursor, type KeyValue, type Ordering, parseCursor } from './keyset-cursor.ts';

const ordering: Ordering = {
  name: 'things/RETURN_DESC',
  direction: 'desc',
  keys: [
    { column: 'things.finished_at', type: 'instant?' },
    { column: 'things.value', type: 'float' },
    { column: 'things.steps', type: 'integer' },
    { column: 'things.topic', type: 'text' },
    { column: 'things.id', type: 'uuid' },
  ],
};
const values: readonly KeyValue[] = [
  '2026-01-31T09:30:00.123456Z',
  '-1.5e-7',
  '41',
  "trees'; drop table",
  '0193d5a0-0000-7000-8000-00000000000a',
];

describe('keyset cursors', () => {
  test('a cursor restores the keys of its row', () => {
    expect(parseCursor(cursorOf(ordering, values), ordering)).toEqual(values);
    expect(parseCursor(cursorOf(ordering, [null, ...values.slice(1)]), ordering)).toEqual([null, ...values.slice(1)]);
  });

  test('a cursor of another ordering is refused with both names', () => {
    const other = { ...ordering, name: 'things/STARTED_ASC' };
    expect(() => parseCursor(cursorOf(other, values), ordering)).toThrow(
      'the cursor belongs to the ordering things/STARTED_ASC, this list is in the ordering things/RETURN_DESC',
    );
  });

  test.each<[string, number, KeyValue]>([
    ['a time that is none', 0, '2026-02-30T00:00:00.000000Z'],
    ['a year that Postgres lacks', 0, '0000-01-01T00:00:00.000000Z'],
    ['words for a time', 0, 'now'],
    ['a number that is none', 1, 'NaN'],
    ['a number past double', 1, '1e999'],
    ['a missing value', 1, null],
    ['a fraction for a whole number', 2, '1.5'],
    ['a whole number past int8', 2, '99999999999999999999'],
    ['a NUL in a text', 3, 'a\0b'],
    ['a half surrogate in a text', 3, '\ud800'],
    ['an id that is none', 4, 'x'],
  ])('a cursor with %s is refused', (_, index, value) => {
    expect(() => parseCursor(cursorOf(ordering, values.with(index, value)), ordering)).toThrow(InvalidCursor);
  });

  test('a cursor with too few or too many keys is refused', () => {
    expect(() => parseCursor(cursorOf(ordering, values.slice(1)), ordering)).toThrow(InvalidCursor);
    expect(() => parseCursor(cursorOf(ordering, [...values, '1']), ordering)).toThrow(InvalidCursor);
  });

  test('any other text is refused as a cursor, never misread', () => {
    const text = fc.oneof(
      fc.string(),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.constant('x'.repeat(10_000)),
    );
    fc.assert(fc.property(text, (cursor) => expect(() => parseCursor(cursor, ordering)).toThrow(InvalidCursor)));
  });

  test.each<[string, readonly KeyValue[], readonly KeyValue[]]>([
    ['a time', ['2026-01-31T09:30:00.123456Z', '1', '1'], ['2026-01-31T09:30:00.123457Z', '0', '0']],
    ['a time and none, which is last', ['2026-01-31T09:30:00.123456Z', '1', '1'], [null, '0', '0']],
    ['a fraction', [null, '-1.5e-7', '1'], [null, '1e-9', '0']],
    ['a whole number of more digits', [null, '1', '9'], [null, '1', '10']],
  ])('%s orders two places as the database does, turned round where the order descends', (_, before, behind) => {
    const keys = ordering.keys.slice(0, 3);
    const ascending = { ...ordering, direction: 'asc', keys } as const;
    expect(compareKeys(before, behind, ascending)).toBeLessThan(0);
    expect(compareKeys(behind, before, ascending)).toBeGreaterThan(0);
    expect(compareKeys(before, behind, { ...ascending, direction: 'desc' })).toBeGreaterThan(0);
    expect(compareKeys(before, before, ascending)).toBe(0);
  });

  test('texts are not compared: their order is that of the database', () => {
    const ofTexts = { ...ordering, keys: [{ column: 'things.topic', type: 'text' }] } as const;
    expect(() => compareKeys(['a'], ['b'], ofTexts)).toThrow('texts are compared by the database');
  });
});
