import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../append/prepare-events.ts';
import { type Envelope, stampOf } from '../events/envelope.ts';
import { setPayloadPolicy } from '../postgres/payload-policies.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { type KillPoint, killEspalierAt } from '../testing/kill-at.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { secretRun, tablesWith } from '../testing/secret-run.ts';
import { until } from '../testing/until.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';
import { drawnSegments } from '../usecases/collect/prompting/prompter.ts';

const SECRET = 'Ada lives at number nine';
const KEPT = 'Grace lives at number ten';
const THIRD = 'Alan lives at number eight';
const DAY = 86_400_000;

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeEach(async () => {
  platform = await openTestPlatform();
  await setPayloadPolicy(db(), 'default', { seal: true });
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});
const db = () => platform.database.db;

const COMMIT = /^Q commit/;
const unsent = (name: string, ...messages: RegExp[]): KillPoint => ({ name, statement: { messages, fate: 'unsent' } });
const unanswered = (name: string, ...messages: RegExp[]): KillPoint => ({ name, statement: { messages, fate: 'unanswered' } });
const file = (name: string, call: 'rename' | 'rm', path: string, when: 'before' | 'after', nth = 1): KillPoint => ({
  name,
  file: { call, path, when, nth },
});

const BLOB = '/[0-9a-f]{64}$';
const ASIDE = '\\.removing$';
const DRAFT = '/[0-9a-f]{64}\\.[0-9a-f]{12}$';
const APPEND = /^B .*log_write/;
const SHOWN = (table: string) => new RegExp(`create or replace view public\\.${table}`);

/** In the order in which a forgetting comes to them: one that is killed at a point is continued to the next one. */
const OF_FORGET: readonly KillPoint[] = [
  unsent('no key is destroyed', /update public\.stream_keys/),
  unanswered('the keys are destroyed, and it does not know', /update public\.stream_keys/),
  unanswered('a build is begun', /create schema \w+_b\d+/, COMMIT),
  unanswered('a build is folded in part', /^B [\s\S]*_v\d+_b\d+, public/, COMMIT),
  unanswered('a build took over', /create or replace view public\./, COMMIT),
  unanswered('what was live before is dropped', /drop schema if exists \w+_v\d+/, COMMIT),
  unsent('snapshots are not dropped', /drop schema if exists as_of_/),
  file('no blob is deleted', 'rename', BLOB, 'before'),
  file('a blob lies aside', 'rename', BLOB, 'after'),
  file('a drawn segment is deleted, and no other', 'rm', `/segments/.*${BLOB}`, 'after'),
  unsent('it is not recorded', APPEND),
  unanswered('it is recorded, and it does not know', APPEND),
];
const OF_RETENTION: readonly KillPoint[] = [
  unsent('nothing is read of what is due', /payload_policies p on/),
  unanswered('the keys are destroyed, and it does not know', /update public\.stream_keys/),
  unsent('a build is not begun', /create schema \w+_b\d+/),
  unsent('a build does not take over', SHOWN('steps')),
  unsent('what was live before is not dropped', /drop schema if exists \w+_v\d+/),
  unanswered('the last read model took over', SHOWN('prompts'), COMMIT),
  unanswered('a snapshot is dropped', /drop schema if exists as_of_/),
  file('a blob is deleted', 'rm', ASIDE, 'after'),
  file('no drawn segment is deleted', 'rm', `/segments/.*${BLOB}`, 'before'),
  unanswered('it is recorded, and it does not know', APPEND),
];

async function append(events: readonly Envelope[]): Promise<void> {
  await platform.log.append(await prepareEvents(events, platform.blobs, stampOf({})));
}

/** Records a run with a secret in every place, drawn histories, blobs and a snapshot too, and another run that is kept. */
async function given() {
  const [gone, kept] = [secretRun('gone', SECRET), secretRun('kept', KEPT, 'open')];
  const builder = gone.builder;
  const tree = builder.tree(gone.runId, 'drawn');
  const drawn = recordDrawnHistories(builder, tree, builder.walk(tree, 0, 3, 1).steps, {
    records: [`${SECRET} hall`, `${SECRET} garden`],
  });
  await append(builder.events);
  await append(kept.events);
  for (const id of drawn.segmentIds) await drawnSegments(platform).put(id, Buffer.from(SECRET));
  const old = new Date(Date.now() - DAY);
  for (const path of await files()) await utimes(path, old, old);
  await sql`create schema as_of_9_1`.execute(db());
  await sql`create table as_of_9_1.steps as select ${SECRET}::text as observation`.execute(db());
  return { gone, kept };
}

async function files(): Promise<readonly string[]> {
  const entries = await readdir(platform.config.blobs, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}

async function filesWith(text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of await files()) if ((await readFile(path)).includes(text)) found.push(path);
  return found;
}

/** Kills a command at each point in turn, then runs it to its end; returns what it said. */
async function killedAtEach(points: readonly KillPoint[], args: readonly string[]): Promise<string> {
  const env = environmentOf(platform);
  for (const point of points) {
    await killEspalierAt(args, env, point);
    await untilNobodyWorks();
  }
  const { code, stdout, stderr } = await runInProcess(args, env);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

/** What a killed process had asked for goes on in Postgres for a moment. */
async function untilNobodyWorks(): Promise<void> {
  const others = async () =>
    (
      await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`.execute(db())
    ).rows[0]?.count;
  await until(async () => (await others()) === 0);
}

async function bodies(): Promise<readonly unknown[]> {
  const { rows } = await sql`select key, value from log_records order by partition_id, "offset"`.execute(db());
  return rows;
}

describe.each([
  { command: 'forget', points: OF_FORGET },
  { command: 'retention', points: OF_RETENTION },
])('espalier $command', ({ command, points }) => {
  test('killed at one point after another it forgets all that was promised and nothing else, and verify is intact', async () => {
    const { gone, kept } = await given();
    const before = await bodies();
    const args =
      command === 'forget'
        ? ['forget', '--run', gone.runId, '--reason', 'asked for', '--by', 'ada', '--yes']
        : ['retention', 'run'];
    if (command === 'retention') {
      await setPayloadPolicy(db(), 'default', { forgetAfterDays: 30 });
      await sql`update log_records set received_at = received_at - interval '40 days'`.execute(db());
    }
    await killedAtEach(points, args);

    expect(await tablesWith(db(), SECRET)).toEqual([]);
    expect(await filesWith(SECRET)).toEqual([]);
    expect(await tablesWith(db(), KEPT)).not.toEqual([]);
    expect(await filesWith(KEPT)).toHaveLength(1);
    const step = await db().selectFrom('steps').selectAll().where('stepId', '=', kept.stepId).executeTakeFirstOrThrow();
    expect(step).toMatchObject({ thought: `${KEPT} thought`, observation: `${KEPT} seen`, action: `${KEPT} action` });
    expect(await bodies()).toEqual(expect.arrayContaining([...before]));
    const said = await db().selectFrom('events').select('body').where('type', '=', 'PayloadForgotten').execute();
    const recorded = said.map(({ body }) => (JSON.parse(body) as Envelope<'PayloadForgotten'>).data);
    const { rows: keys } = await sql<{ keyId: string }>`select key_id from stream_keys where secret is null order by 1`.execute(
      db(),
    );
    expect(recorded.map(({ runId }) => runId)).toEqual([gone.runId]);
    expect([...(recorded[0]?.keys ?? [])].sort()).toEqual(keys.map(({ keyId }) => keyId));
    const verified = await runInProcess(['verify', '--json'], environmentOf(platform));
    const { faults } = JSON.parse(verified.stdout) as { faults: readonly { what: string }[] };
    expect(faults.filter(({ what }) => what !== 'prompt')).toEqual([]); // those of the builder have no true digest
    expect((await sql`select * from projection_builds`.execute(db())).rows).toEqual([]);
  });
});

const OF_COLLECTING: readonly KillPoint[] = [
  unsent('it is not read what waits', /from public\.outbox/),
  unanswered('it is read what waits', /from public\.outbox/),
  unsent('references are not read', /with records as/),
  unanswered('references are read', /with records as/),
  file('no blob is deleted', 'rename', BLOB, 'before'),
  file('a blob lies aside', 'rename', BLOB, 'after'),
  file('a blob is not deleted', 'rm', ASIDE, 'before'),
  file('a blob is deleted', 'rm', ASIDE, 'after'),
  file('another lies aside', 'rename', BLOB, 'after', 2),
  file('two are deleted', 'rm', ASIDE, 'after', 2),
  file('no draft is deleted', 'rm', DRAFT, 'before'),
  file('a draft is deleted', 'rm', DRAFT, 'after'),
];

test('blobs collect killed at one point after another deletes what nothing refers to and leaves every other blob whole', async () => {
  await given();
  await append(secretRun('third', THIRD).events);
  const referred = await files();
  const old = new Date(Date.now() - DAY);
  for (let i = 0; i < 8; i++) await platform.blobs.put(Buffer.from(`orphan ${i}`), 'text/plain');
  for (const path of await filesWith('orphan')) await utimes(path, old, old);
  const [first = ''] = await filesWith('orphan');
  for (const name of ['one', 'two'].map((text) => Buffer.from(text).toString('hex').padEnd(12, '0'))) {
    await writeFile(`${first}.${name}`, 'half of an orphan');
    await utimes(`${first}.${name}`, old, old);
  }
  await platform.blobs.put(Buffer.from('put just now'), 'text/plain');

  expect(await killedAtEach(OF_COLLECTING, ['blobs', 'collect', '--grace', '1'])).toContain('blobs deleted');
  expect(await filesWith('orphan')).toEqual([]);
  expect(await filesWith('put just now')).toHaveLength(1);
  expect((await files()).filter((path) => !referred.includes(path))).toHaveLength(1);
  for (const secret of [SECRET, KEPT, THIRD]) expect((await filesWith(`${secret} response`)).length).toBe(1);
  const verified = await runInProcess(['verify', '--json'], environmentOf(platform));
  const { faults } = JSON.parse(verified.stdout) as { faults: readonly { what: string }[] };
  expect(faults.filter(({ what }) => what === 'blob')).toEqual([]);
});
