import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { readPage } from './keyset.ts';
import { compareKeys, cursorOf, type KeyValue, type Ordering } from './keyset-cursor.ts';

const database = useTestDatabase({ emptied: 'never' });

const ROWS: readonly (readonly [value: KeyValue, id: string])[] = [
  ['2', '1'],
  [null, '2'],
  ['0.1', '3'],
  [null, '4'],
  ['2', '5'],
  [null, '6'],
];
const keys = [
  { column: 'things.value', type: 'float?' },
  { column: 'things.id', type: 'integer' },
] as const;
const ORDERINGS = (['asc', 'desc'] as const).flatMap((direction): readonly Ordering[] => [
  { name: `${direction} as Postgres has it`, direction, keys },
  { name: `${direction} with nulls last`, direction, nulls: 'last', keys },
]);

test.each(ORDERINGS)(
  'a page from any place, to any other and in both directions is the part of the list between them: $name',
  async (ordering) => {
    const things = sql<{ value: number | null; id: number }>`(select v.value::float8, v.id::int8 from (values ${sql.join(
      ROWS.map(([value, id]) => sql`(${value}, ${id})`),
    )}) v (value, id))`.as('things');
    const sorted = ROWS.toSorted((a, b) => compareKeys(a, b, ordering));
    const places = [-1, ...sorted.keys()]; // -1: no cursor
    const at = (place: number) => (place < 0 ? null : cursorOf({ ...ordering, name: 'things' }, sorted[place] ?? []));
    for (const from of places)
      for (const to of places)
        for (const towards of ['forwards', 'backwards'] as const)
          for (const limit of [2, ROWS.length]) {
            const between = sorted.slice(from + 1, to < 0 ? undefined : to).map(([, id]) => Number(id));
            const page = { limit, towards, after: at(from), before: at(to) };
            const { rows } = await readPage(
              database.db,
              database.db.selectFrom(things).select('things.id'),
              { ...ordering, name: 'things' },
              page,
            );
            const part = towards === 'forwards' ? between.slice(0, limit) : between.slice(-limit);
            expect([page, rows.map(({ row }) => Number(row.id))]).toEqual([page, part]);
          }
  },
);
