import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { ofRun } from './of-run.ts';

const database = useTestDatabase({ emptied: 'never' });

test('an event is of its run alone, also where the ids of two runs have the same hash', async () => {
  const [one, other] = ['399c22c2-908b-4ba4-8052-63f4a99a13fe', '4adbe906-7d06-42e5-863a-011f23e22753'] as const;
  const { rows } = await sql<{ hash: number; found: boolean }>`
    select uuid_hash(correlation_id) as hash, ${ofRun('e', one)} as found
    from (values (${one}::uuid), (${other}::uuid)) as e (correlation_id)`.execute(database.db);
  expect(rows.map(({ found }) => found)).toEqual([true, false]);
  expect(new Set(rows.map(({ hash }) => hash)).size).toBe(1);
});
