import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { copyNew, insertFresh, insertRows, isKeyTaken } from './bulk.ts';
import type { Instant, Json } from './column-types.ts';
import { column, type NewRow, table, WrittenBytes } from './table.ts';

const columns = {
  id: column<string>('uuid'),
  "text'": column<string | null>('text'),
  n: column<number | null>('bigint'),
  x: column<number>('double precision'),
  yes: column<boolean | null>('boolean'),
  at: column<Instant>('timestamptz'),
  json: column<Json<unknown>>('jsonb'),
  path: column<string[] | null>('uuid[]'),
  small: column<number | null>('integer'),
  ordinals: column<number[] | null>('bigint[]'),
  bytes: column<Buffer | null>('bytea'),
};
const few = table('few', ['id'], columns);
const many = table('many', ['id'], columns);
type Row = NewRow<typeof few>;

const database = useTestDatabase({ emptied: 'never' });
beforeAll(async () => {
  const declared = Object.entries(columns).map(([name, { type }]) => `"${name}" ${type}`);
  for (const { name } of [few, many])
    await database.pool.query(`create table ${name} (${declared.join(', ')}, primary key (id))`);
});

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const row = (n: number, parts: Partial<Row> = {}): Row => ({
  id: id(n),
  "text'": `row ${n}`,
  n,
  x: n / 3,
  yes: n % 2 === 0,
  at: '2026-01-02T03:04:05.678Z',
  json: { n },
  path: [id(n), id(n + 1)],
  small: -n,
  ordinals: [n, -n, 2 ** 40],
  bytes: '\\x00ff',
  ...parts,
});
const insert = (into: typeof few, rows: readonly Row[]): Promise<void> =>
  database.db.transaction().execute((trx) => insertRows(trx, into, rows));
const copy = (into: typeof few, rows: readonly Row[]): Promise<void> =>
  database.db.transaction().execute((trx) => copyNew(trx, into, rows));
const read = async (table: string): Promise<unknown[]> => (await database.pool.query(`select * from ${table} order by id`)).rows;
const empty = (): Promise<unknown> => database.pool.query('truncate few, many');

describe('bulk inserts', () => {
  test('COPY and INSERT write the same rows, whatever the values hold', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
      fc.constantFrom('', '\\', '\\N', '\\.', '\n\\.\n', '\t', '\r\n', 'a\\tb', '"{}', "'", '\u2028', '\u{1F600}'),
    );
    const values = fc.record({
      "text'": fc.option(hostile),
      n: fc.option(fc.maxSafeInteger()),
      x: fc.double({ noNaN: true, noDefaultInfinity: true }),
      yes: fc.option(fc.boolean()),
      json: fc.option(fc.oneof(hostile, fc.boolean(), fc.integer(), fc.array(hostile), fc.dictionary(hostile, hostile))),
      path: fc.option(fc.array(fc.nat(99).map(id))),
      at: fc
        .date({ min: new Date('0001-01-01'), max: new Date('2284-12-31'), noInvalidDate: true })
        .map((at) => at.toISOString()),
      small: fc.option(fc.integer()),
      ordinals: fc.option(fc.array(fc.maxSafeInteger())),
      bytes: fc.option(
        fc
          .tuple(fc.uint8Array(), fc.boolean())
          .map(([bytes, isHex]) => (isHex ? `\\x${Buffer.from(bytes).toString('hex')}` : new WrittenBytes(Buffer.from(bytes)))),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(values, { minLength: 100, maxLength: 120 }), async (parts) => {
        await empty();
        const rows = parts.map((part, n) => row(n, part));
        for (const each of rows) await insert(few, [each]);
        await copy(many, rows);
        expect(await read('many')).toEqual(await read('few'));
      }),
      { numRuns: 8 },
    );
  });

  test('a text longer than what one message of COPY holds arrives whole, with rows before and behind it', async () => {
    await empty();
    const long = 'ä\u{1F600}"\\'.repeat(60_000);
    await copy(
      many,
      Array.from({ length: 150 }, (_, n) => row(n, n === 75 ? { "text'": long, json: { long } } : {})),
    );
    const rows = (await read('many')) as Row[];
    expect(rows).toHaveLength(150);
    expect(rows[75]).toMatchObject({ "text'": long, json: { long } });
    expect(rows[76]?.["text'"]).toBe('row 76');
  });

  test('a value in another form than the usual one is read by Postgres as it reads a text', async () => {
    await empty();
    const other = {
      at: '2026-01-02 04:04:05.678901+01',
      bytes: new WrittenBytes(Buffer.from([10, 255])),
      id: id(7).toUpperCase(),
    };
    await copy(
      many,
      Array.from({ length: 150 }, (_, n) => row(n, n === 7 ? other : {})),
    );
    const { rows } = await database.pool.query('select at::text, bytes, id from many order by id offset 7 limit 1');
    expect(rows).toEqual([{ at: '2026-01-02 03:04:05.678901+00', bytes: Buffer.from([10, 255]), id: id(7) }]);
  });

  test('instants that are no exact number of microseconds here are kept to the millisecond', async () => {
    await empty();
    const at = '9012-09-23T03:55:09.185Z';
    await copy(
      many,
      Array.from({ length: 150 }, (_, n) => row(n, { at })),
    );
    const { rows } = await database.pool.query('select distinct at::text from many');
    expect(rows).toEqual([{ at: '9012-09-23 03:55:09.185+00' }]);
  });

  test('a day that there is not is refused with the words of Postgres', async () => {
    await empty();
    for (const at of ['2026-02-29T00:00:00.000Z', '2026-01-02T24:00:01.000Z', '0000-01-01T00:00:00.000Z']) {
      const rows = Array.from({ length: 150 }, (_, n) => row(n, n === 99 ? { at } : {}));
      await expect(copy(many, rows)).rejects.toMatchObject({ code: '22008' });
    }
  });

  test('an existing key is skipped, and the first of two equal keys is kept', async () => {
    await empty();
    await insert(many, [row(7, { "text'": 'before' })]);
    await insert(many, [...Array.from({ length: 150 }, (_, n) => row(n)), row(9, { "text'": 'again' })]);
    const rows = (await read('many')) as Row[];
    expect(rows).toHaveLength(150);
    expect(rows[7]?.["text'"]).toBe('before');
    expect(rows[9]?.["text'"]).toBe('row 9');
  });

  test.each([2, 150])('%i rows that are new fail where one of them is there, and nothing is written', async (number) => {
    await empty();
    const rows = Array.from({ length: number }, (_, n) => row(n));
    await insert(many, [row(1)]);
    expect(isKeyTaken(await copy(many, rows).catch((error: unknown) => error))).toBe(true);
    expect(await read('many')).toHaveLength(1);
    await copy(
      many,
      rows.filter((_, n) => n !== 1),
    );
    expect(await read('many')).toHaveLength(number);
  });

  test('of rows that are hardly ever there few are skipped where they are, many fail, and so does one that was looked up', async () => {
    await empty();
    const fresh = (rows: readonly Row[], isMissing?: (one: Row) => boolean) =>
      database.db.transaction().execute((trx) => insertFresh(trx, many, rows, isMissing));
    await fresh([row(1)]);
    await fresh([row(1), row(2)]);
    expect(await read('many')).toHaveLength(2);
    const all = Array.from({ length: 150 }, (_, n) => row(n));
    for (const failing of [fresh(all), fresh([row(2), row(3)], ({ id: of }) => of === id(2))])
      expect(isKeyTaken(await failing.catch((error: unknown) => error))).toBe(true);
    expect(await read('many')).toHaveLength(2);
  });

  test('a value that Postgres cannot store fails the whole insert with a data error, and the connection survives', async () => {
    await empty();
    const rows = Array.from({ length: 150 }, (_, n) => row(n, n === 99 ? { n: 2 ** 70 } : {}));
    await expect(copy(many, rows)).rejects.toMatchObject({ code: expect.stringMatching(/^22/) });
    expect(await read('many')).toEqual([]);
    expect((await sql`select 1 as one`.execute(database.db)).rows).toEqual([{ one: 1 }]);
  });

  test('a connection lost during COPY fails the insert and not the process', async () => {
    await empty();
    const rows = Array.from({ length: 20_000 }, (_, n) => row(n, { "text'": 'x'.repeat(500) }));
    const lost = database.db.transaction().execute(async (trx) => {
      const { rows: own } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      const inserting = copyNew(trx, many, rows);
      await database.pool.query('select pg_terminate_backend($1)', [own[0]?.pid]);
      await inserting;
    });
    await expect(lost).rejects.toThrow();
    expect(await read('many')).toEqual([]);
  });
});
