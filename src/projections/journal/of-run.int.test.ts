import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { buildIndex, readIndexes } from '../answers/build-indexes.ts';
import { journal } from './journal.ts';
import { ofRun } from './of-run.ts';

const database = useTestDatabase({ emptied: 'never' });

async function indexes(): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    "select indexname as name from pg_indexes where schemaname = 'journal_v1' and tablename = 'events' order by 1",
  );
  return rows.map(({ name }) => name).filter((name) => /_of_run$|_correlation$/.test(name));
}

test('an event is of its run alone, also where the ids of two runs have the same hash', async () => {
  const [one, other] = ['399c22c2-908b-4ba4-8052-63f4a99a13fe', '4adbe906-7d06-42e5-863a-011f23e22753'] as const;
  const { rows } = await sql<{ hash: number; found: boolean }>`
    select uuid_hash(correlation_id) as hash, ${ofRun('e', one)} as found
    from (values (${one}::uuid), (${other}::uuid)) as e (correlation_id)`.execute(database.db);
  expect(rows.map(({ found }) => found)).toEqual([true, false]);
  expect(new Set(rows.map(({ hash }) => hash)).size).toBe(1);
});

test('the index of the events of a run takes the place of the one before, by the migration and by the command', async () => {
  const asBefore = `drop index journal_v1.events_of_run;
    create index events_correlation on journal_v1.events (correlation_id, topic, partition, "offset")`;
  await database.pool.query(asBefore);
  expect(await indexes()).toEqual(['events_correlation']);
  const migration = new URL('../../../migrations/0050-events-of-run.sql', import.meta.url);
  await database.pool.query(readFileSync(migration, 'utf8'));
  expect(await indexes()).toEqual(['events_of_run']);
  await database.pool.query(asBefore);
  for (const index of await readIndexes(database.db, [journal])) await buildIndex(database, index);
  expect(await indexes()).toEqual(['events_of_run']);
});
