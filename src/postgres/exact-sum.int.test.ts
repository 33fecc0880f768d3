import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { meanAmount, sumAmounts } from '../domain/reward/amount.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { exactMean, exactSum } from './exact-sum.ts';

const database = useTestDatabase({ emptied: 'never' });

test.each([
  [[]],
  [[0.1, 0.1, 0.1]],
  [[0.1, 0.2, 0.4]],
  [[0.7, 0.1, 0.3, 0.2, 0.6, 0.9, 0.8]],
  [[1e100, -1e100, 1 / 3]],
  [[5e-324, 0]],
  [[5e-324, -5e-324]],
] as number[][][])('Postgres sums and averages %j to the same double as the domain', async (values = []) => {
  const { rows } = await sql<{ sum: number; mean: number }>`
    select ${exactSum(sql`x`)} as sum, ${exactMean(sql`x`)} as mean from unnest(${values}::float8[]) x`.execute(database.db);
  expect(rows).toEqual([{ sum: values.length === 0 ? null : sumAmounts(values), mean: meanAmount(values) }]);
});
