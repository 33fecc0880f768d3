import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import type { Envelope } from '../src/events/envelope.ts';
import { newId } from '../src/events/new-id.ts';
import { openPlatform } from '../src/platform/open-platform.ts';
import { openPool } from '../src/postgres/pool.ts';
import { readLedgers } from '../src/projections/training-pool/read-ledger.ts';
import { readConfig } from '../src/runtime/config.ts';
import { collectUndisturbed, countEvents, plan as crashPlan, environmentOf, settle } from '../src/testing/crashing-run.ts';
import { createDatabase, type TestDatabase } from '../src/testing/database.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { LOCAL, writeLocalToken } from '../src/testing/local-token.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { startOpenAiServer } from '../src/testing/openai-server.ts';
import { type Release, unpackRelease } from '../src/testing/previous-release/start-release.ts';
import { textCraftAgent } from '../src/testing/textcraft-agent.ts';
import { until } from '../src/testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../src/testing/worker-process.ts';
import { runDigest } from '../src/usecases/datasets/run-digest.ts';

// The order is that of docs/guides/cluster.md; the release before comes from src/testing/previous-release.
let database: TestDatabase;
let home: string;
let env: Readonly<Record<string, string>>;
let pool: pg.Pool;
let before: Release;
const open: (() => Promise<void>)[] = [];

const TRAIN = ['--policy', 'upgraded', '--environment', 'search-qa', '--updates', '6', '--groups', '2', '--group', '3'];
const TRAINING = ['train', ...TRAIN, '--tasks', '8', '--test-tasks', '0', '--keep-zero-variance'];

/** Describes the upgrade of an installation whose log lies in Postgres, or with these brokers. */
export function describeUpgrade(brokers?: () => Promise<readonly string[]>): void {
  beforeEach(async () => {
    before = await unpackRelease();
    database = await createDatabase(process.env.DATABASE_URL ?? '', 'espalier_test', 'template0');
    home = await mkdtemp(join(tmpdir(), 'espalier-home-'));
    await writeLocalToken(home);
    env = {
      DATABASE_URL: database.url,
      ESPALIER_HOME: home,
      ESPALIER_PARTITIONS: '4',
      ESPALIER_PORT: '0',
      ...(brokers ? { KAFKA_BROKERS: (await brokers()).join(','), ESPALIER_KAFKA_PREFIX: `${database.name}.` } : {}),
    };
    pool = openPool(database.url, { max: 2 });
  });
  afterEach(async () => {
    await killRunning();
    for (const close of open.splice(0).reverse()) await close();
    await pool.end();
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  test('an installation is upgraded process by process while the release before collects, trains and serves, and loses nothing', async () => {
    // The release before: an installation of its own, with everything at work.
    const old = (script: string, ...args: string[]) => before.start(script, args, env);
    const projectors = [old('workers/project.ts')];
    await said(projectors, /"projecting"/);
    const services = { api: old('workers/api.ts'), relay: old('workers/relay.ts'), batch: old('workers/batch.ts') };
    const [, url = ''] = await services.api.saying(/"url":"([^"]+)"/);
    await Promise.all([services.relay.saying(/"relaying"/), services.batch.saying(/"batching"/)]);
    const produced = requests();
    for (const events of produced.slice(0, 3)) expect(await post(url, events)).toBe(200);
    const model = await openModel();
    const run = { runId: newId(), name: 'upgraded', seed: 17, plan: { ...crashPlan, policy: model.policy, maxSteps: 6 } };
    const planFile = await write('plan.json', run);
    const collector = old('workers/collect.ts', planFile);
    await until(() => model.asked() > 0, 300_000);
    const command = old('src/cli/main.ts', ...TRAINING);
    await Promise.race([until(async () => (await version()) >= 1, 300_000), failing(command)]);
    command.kill('SIGTERM');
    await command.ended; // a command folds too
    const training = await write('training.json', await trainingRun());
    const trainer = old('workers/train.ts', 'upgraded', 'trainer-1');
    const samples = old('workers/collect.ts', training);
    await Promise.all([trainer.saying(/"training"/), samples.saying(/"collecting"/)]);

    // New projectors next to the old ones, which then stop; then the services, one by one.
    const running = [startProcess('workers/project.ts', [], env)];
    await said(running, /"projecting"/);
    for (const projector of projectors) await stop(projector);
    const api = startProcess('workers/api.ts', [], env);
    const [, newUrl = ''] = await api.saying(/"url":"([^"]+)"/);
    expect(await post(url, produced[3] ?? [])).toBe(200); // who still asks the old one is answered
    expect(await post(newUrl, produced[3] ?? [])).toBe(200); // sent again to the new one it is the same event
    await stop(services.api);
    running.push(api, await replace(services.relay, 'workers/relay.ts', /"relaying"/));
    running.push(await replace(services.batch, 'workers/batch.ts', /"batching"/));
    for (const events of produced.slice(4)) expect(await post(newUrl, events)).toBe(200);

    // The collector of the release before, which was held since it began, works to its end on the new schema.
    const events = await appended(run.runId);
    model.release();
    expect([await collector.ended, collector.stderr()]).toEqual([0, expect.stringContaining('"state":"completed"')]);
    await until(async () => (await appended(run.runId)) > events); // projected behind the end of the collector
    // Trainers and collectors that are left are replaced last, and go on where they were.
    const consumer = await replace(trainer, 'workers/train.ts', /"training"/, 'upgraded', 'trainer-1');
    await stop(samples);
    const collecting = startProcess('workers/collect.ts', [training], env);
    expect([await collecting.ended, collecting.stderr()]).toEqual([0, expect.stringContaining('"collected"')]);
    await until(async () => (await version()) >= 6, 300_000);

    const platform = await openPlatform(readConfig(env), 'test');
    open.push(() => platform.close());
    await settle(platform);
    for (const process of [consumer, ...running]) await stop(process);
    const { db } = platform.database;
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await db.selectFrom('anomalies').selectAll().where('kind', '<>', 'duplicate').execute()).toEqual([]);
    expect(await db.selectFrom('projections').select('name').where('state', '<>', 'running').execute()).toEqual([]);
    const ids = await db
      .selectFrom('events')
      .select('eventId')
      .where('correlationId', '=', produced[0]?.[0]?.stream ?? '')
      .execute();
    expect(ids.map(({ eventId }) => eventId).sort()).toEqual(
      produced
        .flat()
        .map(({ id }) => id)
        .sort(),
    );
    const [ledger] = await readLedgers(db, ['upgraded']);
    expect(ledger).toMatchObject({ difference: 0, ahead: 0 });
    await spoken('index'); // what the old projectors folded on the new schema is counted
    expect(await spoken('verify')).toMatchObject({ faulty: 0, records: await countEvents(platform) });
    expect(await spoken('replay', 'projections')).toMatchObject({ differing: 0 });

    // What an undisturbed installation of this release comes to.
    const undisturbed = await openTestPlatform();
    open.push(() => undisturbed.close());
    const alone = await collectUndisturbed(undisturbed, run.seed, run.plan);
    expect(await runDigest(platform, run.runId)).toEqual(await runDigest(undisturbed, alone));
    const trained = await runInProcess(['--json', ...TRAINING], environmentOf(undisturbed));
    expect(JSON.parse(trained.stdout)).toMatchObject({ weights: await weights(), ledger: { trained: ledger?.trained } });

    // From now on the release before does not start, and says why.
    // also where this release brings no migration and no read model of its own
    await pool.query("insert into migrations (name, sql) values ('9999-of-a-later-release.sql', '')");
    for (const script of ['workers/project.ts', 'workers/api.ts', 'workers/train.ts']) {
      const refused = before.start(script, [], env);
      expect([script, await refused.ended]).toEqual([script, 1]);
      expect(refused.stderr()).toMatch(
        /(migration|read model) \S+,? (which )?is .*not known here: a newer release has upgraded this database/,
      );
    }
  }, 900_000);
}

/** Rejects when a command ends otherwise than it should. */
async function failing(process: ChildProcess): Promise<void> {
  const end = await process.ended;
  if (end !== 0) throw new Error(`a command ended with ${end}:\n${process.stderr()}`);
}

const said = (processes: readonly ChildProcess[], what: RegExp) => Promise.all(processes.map((one) => one.saying(what)));

async function stop(process: ChildProcess): Promise<void> {
  process.kill('SIGTERM');
  const end = await process.ended;
  if (end !== 0) throw new Error(`a process that was stopped ended with ${end}:\n${process.stderr()}`);
}

/** Starts the program of this release next to that of the one before, and then stops that one. */
async function replace(old: ChildProcess, script: string, ready: RegExp, ...args: string[]): Promise<ChildProcess> {
  const process = startProcess(script, args, env);
  await process.saying(ready);
  await stop(old);
  return process;
}

/** A model that answers some questions and then none until it is released. */
async function openModel() {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let asked = 0;
  const server = await startOpenAiServer({
    model: 'crafter',
    reply: textCraftAgent,
    opened: () => (++asked > 20 ? released : Promise.resolve()),
  });
  open.push(() => server.close());
  const policy = JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'crafter' });
  return { policy, release, asked: () => asked };
}

/** A run with its trees, cut into requests. */
function requests(): readonly (readonly Envelope[])[] {
  const builder = new EventBuilder('upgraded producer');
  const runId = builder.run();
  for (const name of ['a', 'b', 'c']) {
    const tree = builder.tree(runId, name);
    builder.walk(tree, 0, 3, 1);
    builder.closeTree(tree, 1);
  }
  builder.finishRun(runId);
  const size = Math.ceil(builder.events.length / 6);
  return Array.from({ length: 6 }, (_, i) => builder.events.slice(i * size, (i + 1) * size));
}

async function post(url: string, events: readonly Envelope[]): Promise<number> {
  const headers = { 'content-type': 'application/json', ...LOCAL };
  const response = await fetch(`${url}/v1/events`, { method: 'POST', headers, body: JSON.stringify(events) });
  if (response.status !== 200) throw new Error(await response.text());
  return response.status;
}

async function write(name: string, value: unknown): Promise<string> {
  const file = join(home, name);
  await writeFile(file, JSON.stringify(value));
  return file;
}

async function version(): Promise<number> {
  const there = await pool.query("select to_regclass('public.policy_versions') is not null as there");
  if (!there.rows[0]?.there) return 0;
  const { rows } = await pool.query('select coalesce(max(version), 0)::int as version from policy_versions');
  return rows[0]?.version ?? 0;
}

async function weights(): Promise<string> {
  const { rows } = await pool.query('select weights from policy_versions order by version desc limit 1');
  return rows[0]?.weights;
}

async function appended(runId: string): Promise<number> {
  const { rows } = await pool.query('select count(*)::int as events from events where correlation_id = $1', [runId]);
  return rows[0]?.events ?? 0;
}

/** What a collector of the training is started with: its run as the command recorded it. */
async function trainingRun(): Promise<object> {
  const { rows } = await pool.query("select run_id, name, seed, config from runs where name = 'train upgraded'");
  const { run_id: runId, name, seed, config } = rows[0];
  return { runId, name, seed: Number(seed), plan: config };
}

async function spoken(...args: string[]): Promise<object> {
  const { code, stdout, stderr } = await runInProcess(['--json', ...args], env);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as object;
}
