import { beforeAll, describe, expect, test } from '@jest/globals';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { rowsWhere } from './rows-where.ts';

const database = useTestDatabase({ emptied: 'never' });
beforeAll(async () => {
  const rows = ['a', 'b', 'c'].map((code, i) => ({ ...place(i), code, stream: i === 1 ? null : `stream ${i}` }));
  await database.db.insertInto('quarantine').values(rows).execute();
});
const place = (offset: number) => ({
  projection: 'journal',
  topic: 'trees',
  partition: 0,
  offset,
  type: null,
  field: '',
  reason: 'bad',
  body: Buffer.from('x'),
});

describe('rows that have values', () => {
  test('a row has one of the values of every named column', async () => {
    const { db } = database;
    const codes = async (where: Parameters<typeof rowsWhere<'quarantine', 'code'>>[2]) =>
      (await rowsWhere(db, 'quarantine', where, ['code'], ['offset'])).map(({ code }) => code).join('');
    expect(await codes({})).toBe('abc');
    expect(await codes({ offset: [2, 0, 7] })).toBe('ac');
    expect(await codes({ code: new Set(['c', 'b']), topic: 'trees' })).toBe('bc');
    expect(await codes({ stream: null })).toBe('b');
    expect(await codes({ offset: [] })).toBe('');
    expect(await codes({ code: "a' or true", offset: 0 })).toBe('');
  });

  test('columns have the names and values of the query builder', async () => {
    const rows = await rowsWhere(database.db, 'quarantine', { code: 'a' }, ['offset as at', 'body', 'requeuedAt']);
    expect(rows).toEqual([{ at: 0, body: Buffer.from('x'), requeuedAt: null }]);
  });
});
