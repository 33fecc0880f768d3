import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SchemaUnknown } from '../postgres/migrate.ts';
import { connect } from '../postgres/pool.ts';
import { runs } from '../projections/runs/runs.ts';
import { readConfig } from '../runtime/config.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { openPlatform, type Platform } from './open-platform.ts';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(() => platform.close());

/** All that a start could write: the tables, the views, what was migrated and which versions are live. */
async function schemaOf(): Promise<unknown> {
  const client = await connect(platform.databaseUrl);
  try {
    const { rows } = await client.query(
      `select n.nspname, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname !~ '^pg_' order by 1, 2`,
    );
    const migrated = await client.query('select name, applied_at from migrations order by name');
    const live = await client.query('select name, version from projections order by name');
    return [rows, migrated.rows, live.rows];
  } finally {
    await client.end();
  }
}

const LATER = `the read model runs is live in version ${runs.version + 1} and known here up to version ${runs.version}: another version`;

test.each([
  [
    'a migration that is not known here',
    "insert into migrations (name, sql) values ('9000-later.sql', 'create table later ()'); delete from migrations where name = '0005-verifications.sql'",
    'the database has the migration 9000-later.sql, which is not known here: another version of Espalier made this database',
  ],
  ['a read model in a version that is not known here', "update projections set version = version + 1 where name = 'runs'", LATER],
  [
    'a later build of a version that is not known here',
    "update projections set version = version + 1000001 where name = 'runs'",
    LATER,
  ],
  [
    'a read model that is not known here',
    "insert into projections (name, version) values ('later', 1)",
    'the read model later is live in version 1 and not known here: another version',
  ],
])('code refuses to start on %s, and writes nothing', async (_, upgrade, message) => {
  await platform.database.pool.query(upgrade);
  const before = await schemaOf();
  const config = readConfig({ ESPALIER_HOME: platform.home, DATABASE_URL: platform.databaseUrl });
  const refused = await openPlatform(config, 'test').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SchemaUnknown);
  expect((refused as Error).message).toContain(message);
  expect((refused as Error).message).toMatch(/ and import the files into a new database$/);
  expect(await schemaOf()).toEqual(before);
});

test('code starts on another build of a version that it knows', async () => {
  await platform.database.pool.query("update projections set version = 1000001 where name = 'runs'");
  const config = readConfig({ ESPALIER_HOME: platform.home, DATABASE_URL: platform.databaseUrl, ESPALIER_PARTITIONS: '4' });
  await (await openPlatform(config, 'test')).close();
});
