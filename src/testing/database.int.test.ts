import { expect, test } from '@jest/globals';
import { connect } from '../postgres/pool.ts';
import { createTestDatabase } from './database.ts';

test('databases created concurrently are migrated, empty and separate; a dropped one disappears, whoever is connected', async () => {
  const databases = await Promise.all([createTestDatabase(), createTestDatabase(), createTestDatabase()]);
  const clients = await Promise.all(databases.map(({ url }) => connect(url)));
  const ends = clients.map((client) => new Promise((resolve) => client.on('error', resolve)));
  await clients[0]?.query("insert into projections (name, version) values ('mine', 1)");
  const counts = await Promise.all(
    clients.map((client) => client.query<{ n: number }>("select count(*) as n from projections where name = 'mine'")),
  );
  expect(counts.map(({ rows }) => rows[0]?.n)).toEqual([1, 0, 0]);
  await Promise.all(databases.map((database) => database.drop()));
  await Promise.all(ends);
  for (const { url } of databases) await expect(connect(url)).rejects.toMatchObject({ code: '3D000' });
});
