import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../postgres/embedded-server.ts';
import { migrate } from '../../postgres/migrate.ts';
import { connect } from '../../postgres/pool.ts';
import { installProjections } from '../../projections/install.ts';
import { until } from '../../testing/until.ts';
import { bringServiceForward } from './ensure-synced-with-log.ts';

let folder: string;
let server: EmbeddedPostgres;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-numbers-'));
  server = await startEmbeddedPostgres({ folder, durability: 'fsync' });
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const record = async ({ db }: Database) => {
  const { rows } = await sql<{ id: string }>`
    insert into outbox (event_id, topic, key, value) values (gen_random_uuid(), 'training', 'k', '') returning outbox_id::text as id`.execute(
    db,
  );
  return Number(rows[0]?.id);
};

test('a copied lease service never reuses a number of the outbox, also when the server crashes behind it', async () => {
  const original = await openDatabase(server.url);
  await migrate(original.pool);
  await installProjections(original.pool);
  for (let i = 0; i < 5; i++) await record(original);
  await original.close();
  const url = new URL(server.url);
  url.pathname = '/postgres';
  const administrator = await connect(url.toString());
  administrator.on('error', () => undefined); // it is killed
  await administrator.query(`create database restored template ${new URL(server.url).pathname.slice(1)} strategy wal_log`);
  url.pathname = '/restored';
  const restored = await openDatabase(url.toString());
  try {
    await restored.db.transaction().execute(bringServiceForward);
    const given = [await record(restored), await record(restored), await record(restored)];
    const { rows } = await administrator.query<{ pid: number }>('select pg_backend_pid() as pid');
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL'); // the postmaster ends all others and recovers from the log
    await until(async () => {
      const again = await record(restored).catch((error: { code?: string }) =>
        error.code === '23505' ? Promise.reject(error) : 0,
      );
      if (again > 0) given.push(again);
      return again > 0;
    });
    expect(new Set(given).size).toBe(4);
    expect(Math.min(...given)).toBeGreaterThan(5);
  } finally {
    await restored.close();
    await administrator.end().catch(() => undefined);
  }
});
