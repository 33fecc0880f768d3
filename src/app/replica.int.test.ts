import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { connect } from '../postgres/pool.ts';
import { readConfig } from '../runtime/config.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL, writeLocalToken } from '../testing/local-token.ts';
import { startStandby } from '../testing/start-standby.ts';
import { project } from './project.ts';
import { serveApi } from './serve-api.ts';

let folder: string;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let platform: Platform;
let server: Awaited<ReturnType<typeof serveApi>>;
let projecting: Awaited<ReturnType<typeof project>>;
const settings = (replica: string) => ({
  ESPALIER_HOME: join(folder, 'home'),
  DATABASE_URL: primary.url,
  DATABASE_REPLICA_URL: replica,
  ESPALIER_PARTITIONS: '2',
  ESPALIER_PORT: '0',
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-replica-'));
  primary = await startEmbeddedPostgres({ folder: join(folder, 'primary') });
  standby = await startStandby(primary, join(folder, 'primary'), join(folder, 'standby'));
  platform = await openPlatform(readConfig(settings(standby.url)), 'test');
  await writeLocalToken(join(folder, 'home'));
  projecting = await project(platform, SILENT);
  server = await serveApi(platform, SILENT);
});
afterAll(async () => {
  await server?.close();
  await projecting?.close();
  await platform?.close();
  await standby?.close();
  await primary?.close();
  await rm(folder, { recursive: true, force: true });
});

async function post(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json', ...LOCAL };
  const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}
const askedAfter = (position: string) =>
  post('/graphql', {
    query: `{ waitFor(position: "${position}", timeoutMs: 20000) { query { runs(first: 100) { nodes { name } } } } }`,
  });

test('queries are answered by the standby, and who waits for a position finds there what was recorded', async () => {
  const { rows } = await platform.database.pool.query<{ name: string }>(
    "select application_name as name from pg_stat_activity where application_name like 'espalier %'",
  );
  expect(rows.map(({ name }) => name)).not.toContain('espalier queries');
  for (let n = 1; n <= 5; n++) {
    const builder = new EventBuilder(`replica ${n}`);
    builder.run(`run ${n}`);
    const { status, body } = await post('/v1/events', builder.events);
    if (status !== 200) throw new Error(JSON.stringify(body));
    const asked = await askedAfter(body.position);
    expect(asked.body.data.waitFor.query.runs.nodes).toHaveLength(n);
  }
});

test('a wait is as long as the standby needs, which is behind', async () => {
  const follower = await connect(standby.url);
  await follower.query('select pg_wal_replay_pause()');
  const builder = new EventBuilder('late');
  builder.run('late');
  const { body } = await post('/v1/events', builder.events);
  const asked = askedAfter(body.position);
  const now = await Promise.race([asked, post('/graphql', { query: '{ runs { nodes { name } } }' })]);
  if (now.body.errors) throw new Error(JSON.stringify(now.body));
  expect(now.body.data.runs.nodes).toHaveLength(5);
  await follower.query('select pg_wal_replay_resume()');
  await follower.end();
  expect((await asked).body.data.waitFor.query.runs.nodes).toHaveLength(6);
});

test('a database of another record is refused', async () => {
  const other = await startEmbeddedPostgres({ folder: join(folder, 'other'), durability: 'none' });
  const opened = await openPlatform(readConfig(settings(other.url)), 'test');
  try {
    await expect(serveApi(opened, SILENT)).rejects.toThrow('DATABASE_REPLICA_URL holds another record, or none');
  } finally {
    await opened.close();
    await other.close();
  }
});
