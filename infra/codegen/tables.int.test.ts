import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { useTestDatabase } from '../../src/testing/use-test-database.ts';
import { generateTables, isGenerated, narrowTypes, readSources, sign } from './generate-tables.ts';

const database = useTestDatabase({ emptied: 'never' });

describe('the generated tables', () => {
  test('every generated file equals what a database with the same SQL yields', async () => {
    const files = await generateTables(database.pool, await readSources());
    expect(files.length).toBeGreaterThan(10);
    for (const { target, text } of files) expect({ target, text: await readFile(target, 'utf8') }).toEqual({ target, text });
  });

  test('a column whose type the generator does not know is refused with its name', async () => {
    await database.pool.query('create table odd (place point)');
    await expect(generateTables(database.pool, await readSources())).rejects.toThrow('odd.place is point');
  });

  test('the digest distinguishes a file that was edited from one whose SQL was', () => {
    const source = { folder: '', projection: 'things', sql: 'create table things (a text);', target: '' };
    const file = sign('export const tables = {};\n', source);
    expect(isGenerated(file, source)).toBe(true);
    expect(isGenerated(file.replace('tables', 'table'), source)).toBe(false);
    expect(isGenerated(file, { ...source, sql: 'create table things (b text);' })).toBe(false);
    expect(isGenerated('', source)).toBe(false);
  });

  test('a narrower type is read from behind its column, of the table that it is in', () => {
    const types = narrowTypes(`create table one (
  a text not null, --: 'x' | 'y'
  "offset" jsonb --: number[]
);
create table two (
  a text -- no type, but a comment
);`);
    expect(Object.fromEntries([...types].map(([table, of]) => [table, Object.fromEntries(of)]))).toEqual({
      one: { a: "'x' | 'y'", offset: 'number[]' },
      two: {},
    });
  });
});
