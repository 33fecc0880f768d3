import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '../runtime/config.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { startSimpleS3Server } from '../testing/simple-s3-server.ts';
import { diagnose } from './diagnose.ts';
import type { Platform } from './open-platform.ts';

let platform: Platform;
let home: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  home = await mkdtemp(join(tmpdir(), 'espalier-doctor-'));
});
afterAll(async () => {
  await platform.close();
  await rm(home, { recursive: true });
});

async function stepsOf(part: string, changes: Readonly<Record<string, string>> = {}) {
  const findings = await diagnose(readConfig({ ESPALIER_HOME: home, DATABASE_URL: platform.databaseUrl, ...changes }), []);
  return findings.filter((finding) => finding.part === part).map(({ step, state, detail }) => `${step} ${state}: ${detail}`);
}

test('a database that serves is described step by step, and nothing is written to it', async () => {
  expect(await stepsOf('database')).toEqual([
    expect.stringMatching(/^reach and login ok: database \S+ as \S+/),
    expect.stringMatching(/^version ok: Postgres 1\d/),
    'sessions ok: at DATABASE_URL',
    'rights ok: schemas and tables',
    expect.stringMatching(/^record ok: of the log /),
  ]);
});

test('the steps after one that fails are not tried', async () => {
  const url = new URL(platform.databaseUrl);
  url.port = '1';
  const steps = await stepsOf('database', { DATABASE_URL: url.toString() });
  expect(steps[0]).toMatch(/^reach and login failed: cannot reach Postgres at .*ECONNREFUSED.*check DATABASE_URL/);
  expect(steps.slice(1)).toEqual(
    ['version', 'sessions', 'rights', 'record'].map((step) => `${step} skipped: after reach and login`),
  );
});

test('a record that another version made is refused by name', async () => {
  await platform.database.pool.query("insert into migrations (name, sql) values ('9999_later.sql', 'select 1')");
  try {
    expect((await stepsOf('database')).at(-1)).toMatch(
      /^record failed: the database has the migration 9999_later.sql, which is not known here/,
    );
  } finally {
    await platform.database.pool.query("delete from migrations where name = '9999_later.sql'");
  }
});

test('folders and the master key are looked at first', async () => {
  await writeFile(join(home, 'key'), 'short');
  const steps = await stepsOf('folders', { ESPALIER_MASTER_KEY_FILE: join(home, 'key'), ESPALIER_BLOBS: join(home, 'later') });
  expect(steps).toEqual([
    `home ok: ${home}`,
    `blobs ok: ${join(home, 'later')}, which the first start makes`,
    expect.stringMatching(/^master key failed: .*holds no key of 64 hexadecimal digits/),
  ]);
});

test.each(['kept', 'ignored'] as const)(
  'a store by which the condition of a put is %s passes, or is named',
  async (condition) => {
    const server = await startSimpleS3Server(condition);
    try {
      const steps = await stepsOf('objects', {
        ESPALIER_OBJECTS: 's3://simple',
        AWS_ENDPOINT_URL_S3: server.bucket.endpoint ?? '',
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'secret',
      });
      const write = steps.find((step) => step.startsWith('write'));
      expect(write).toMatch(
        condition === 'kept' ? /^write ok: / : /^write failed: .* replaces an object that is written under the/,
      );
    } finally {
      await server.close();
    }
  },
);
