import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRandom } from '../../../src/domain/random/random.ts';
import type { EventLog } from '../../../src/log/event-log.ts';
import type { Size, Stage, StageDatabase } from '../stage.ts';
import { type CpuSeconds, cpuSeconds, serverOf } from './cpu-seconds.ts';
import { openSteady } from './steady.ts';

/** What a round took, from its first event to its last. */
export interface Round {
  readonly events: number;
  readonly seconds: number;
  readonly cpu: CpuSeconds;
  /** How long an event waited, ms, where that is what the work is about. */
  readonly waited?: { readonly p50: number; readonly p99: number };
}

/** The sources of a checkout. An older one has the shapes of these here in all that is used below. */
type Checkout = Awaited<ReturnType<typeof loadCheckout>>;
async function loadCheckout(folder: string) {
  const load = <T>(path: string): Promise<T> => import(pathToFileURL(join(folder, path)).href);
  return {
    ...(await load<typeof import('../stage.ts')>('infra/bench/stage.ts')),
    ...(await load<typeof import('../trajectories.ts')>('infra/bench/trajectories.ts')),
    ...(await load<typeof import('../../../graphql/create-graphql.ts')>('graphql/create-graphql.ts')),
    ...(await load<typeof import('../../../src/postgres/principal.ts')>('src/postgres/principal.ts')),
    ...(await load<typeof import('../../../src/testing/given-events.ts')>('src/testing/given-events.ts')),
    ...(await load<typeof import('../stage-platform.ts')>('infra/bench/stage-platform.ts')),
    ...(await load<typeof import('../fill-batches.ts')>('infra/bench/fill-batches.ts')),
    ...(await load<typeof import('../../../src/training/rows/encode-rows.ts')>('src/training/rows/encode-rows.ts')),
    ...(await load<typeof import('../../../src/training/rows/read-batch-rows.ts')>('src/training/rows/read-batch-rows.ts')),
    ...(await load<typeof import('../../../src/training/rows/read-prompts-of-rows.ts')>(
      'src/training/rows/read-prompts-of-rows.ts',
    )),
    ...(await load<typeof import('../../../src/app/serve-api.ts')>('src/app/serve-api.ts')),
    ...(await load<typeof import('../../../src/postgres/keys.ts')>('src/postgres/keys.ts')),
    ...(await load<typeof import('../../../src/runtime/logger.ts')>('src/runtime/logger.ts')),
    ...(await load<typeof import('../../../src/events/catalogue.ts')>('src/events/catalogue.ts')),
    ...(await load<typeof import('../../../src/append/appender.ts')>('src/append/appender.ts')),
    ...(await load<typeof import('../../../src/platform/open-platform.ts')>('src/platform/open-platform.ts')),
    ...(await load<typeof import('../../../src/environments/open-environment.ts')>('src/environments/open-environment.ts')),
    ...(await load<typeof import('../../../src/usecases/collect/choose-tasks.ts')>('src/usecases/collect/choose-tasks.ts')),
    ...(await load<typeof import('../../../src/usecases/collect/collect.ts')>('src/usecases/collect/collect.ts')),
    ...(await load<typeof import('../../../src/usecases/collect/plan.ts')>('src/usecases/collect/plan.ts')),
    ...(await load<typeof import('../../../src/runtime/config.ts')>('src/runtime/config.ts')),
    ...(await load<typeof import('../../../src/projections/projection.ts')>('src/projections/projection.ts')),
    ...(await load<typeof import('../../../src/projections/registry.ts')>('src/projections/registry.ts')),
    ...(await load<typeof import('../../../src/projections/runner.ts')>('src/projections/runner.ts')),
    ...(await load<typeof import('../../../src/projections/wait-until.ts')>('src/projections/wait-until.ts')),
  };
}

export interface Ground {
  readonly checkout: Checkout;
  readonly stage: Stage;
  readonly database: StageDatabase;
  /** Process id of the Postgres server. */
  readonly server: number;
  /** Trees of a round. */
  readonly trees: number;
}
/** Opens a work, and returns what does one round of it. */
type Open = (ground: Ground) => Promise<() => Promise<Round>>;

const BATCH = 500;
const SEND = 5_000; // events on their way to be projected
const PARTITIONS = 8;
const WAIT_MS = 300_000;

/** The works by which two checkouts are compared. */
export const WORKS = {
  'append to the embedded log': async (ground) => openAppend(ground, await ground.stage.embeddedLog()),
  'append large steps to the embedded log': async (ground) => openAppend(ground, await ground.stage.embeddedLog(), enlarged),
  'append to Kafka': async (ground) => openAppend(ground, await ground.stage.kafkaLog()),
  'append drafts on the platform': openDrafts,
  'POST until durable': openPost,
  'collect with the linear policy': openCollect,
  'Kafka to queryable': async (ground) => openProject(ground, await ground.stage.kafkaLog()),
  'embedded log to queryable': async (ground) => openProject(ground, await ground.stage.embeddedLog()),
  'embedded log to queryable, large steps': async (ground) => openProject(ground, await ground.stage.embeddedLog(), enlarged),
  '2,000 events/s on Kafka': async (ground) => openSteady(ground, await ground.stage.kafkaLog(), 2_000),
  '2,000 events/s on the embedded log': async (ground) => openSteady(ground, await ground.stage.embeddedLog(), 2_000),
  '500 events/s on Kafka': async (ground) => openSteady(ground, await ground.stage.kafkaLog(), 500),
  '500 events/s on the embedded log': async (ground) => openSteady(ground, await ground.stage.embeddedLog(), 500),
  'ten fields of 1,000 steps over GraphQL': (ground) =>
    openTree(ground, 'id parentId rolloutId depth response thought action observation executable termination'),
  'lists of 1,000 steps over GraphQL': (ground) =>
    openTree(ground, 'id parentId depth action observation rewards { component value } statistics { visits value }'),
  'rows of batches, read and packed': (ground) => openRows(ground, 'step'),
  'rows of batches with prompts, by trajectory': (ground) => openRows(ground, 'verl'),
} satisfies Record<string, Open>;
export type Work = keyof typeof WORKS;

/** Opens a work on the sources of a checkout, with servers of its own. Who opens closes. */
export async function openWork(folder: string, work: Work, size: Size, trees: number) {
  const checkout = await loadCheckout(folder);
  const stage = checkout.openStage(size);
  const database = await stage.database();
  const { rows } = await database.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const round = await WORKS[work]({ checkout, stage, database, trees, server: await serverOf(rows[0]?.pid ?? 0) });
  return { round, close: () => stage.close() };
}

async function openAppend({ checkout, trees, server }: Ground, log: EventLog, change = asTheyAre): Promise<() => Promise<Round>> {
  await log.ensureTopics(checkout.TOPICS, PARTITIONS);
  return async () => {
    const events = change(checkout.recordTrajectories({ ...checkout.GROUP, trees, name: 'append' }));
    const records = checkout.recordsOf(events).filter(({ topic }) => topic === 'trees');
    return measured(server, records.length, async () => {
      for (let from = 0; from < records.length; from += BATCH) await log.append(records.slice(from, from + BATCH));
    });
  };
}

type Events = ReturnType<Checkout['recordTrajectories']>;
const asTheyAre = (events: Events): Events => events;

const SEEN = 'desk lamp opens drawer finds nothing goes north puts key down asks why map door says red box shelf'.split(' ');
const MORE_WORDS = 240; // of each step: its record is above 2 KB, which Postgres compresses

function enlarged(events: Events): Events {
  const random = createRandom('enlarged');
  const more = () => Array.from({ length: MORE_WORDS }, () => random.choice(SEEN)).join(' ');
  return events.map((event) => (event.type === 'StepTaken' ? { ...event, data: { ...event.data, observation: more() } } : event));
}

/** As a collector appends: by an appender, to the log as the platform opens it. */
async function openDrafts({ checkout, stage, database, server, trees }: Ground): Promise<() => Promise<Round>> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  const platform = await checkout.openPlatform(checkout.readConfig({ ESPALIER_HOME: home, DATABASE_URL: database.url }), 'bench');
  stage.closing(() => platform.close());
  const { log, blobs, stamp } = platform;
  let round = 0;
  return async () => {
    const producer = { name: `bench ${round++}`, version: '1' };
    const appender = checkout.createAppender({ log, blobs, producer, stamp, clock: Date.now });
    const drafts = checkout.recordTrajectories({ ...checkout.GROUP, trees, name: producer.name });
    return measured(server, drafts.length, async () => {
      for (let from = 0; from < drafts.length; from += BATCH) await appender.append(drafts.slice(from, from + BATCH));
    });
  };
}

const ROLLOUTS = 8; // of a tree, of at most 10 steps each

/** TextCraft, played and recorded in this process; nothing projects meanwhile. A step that is taken counts as an event. */
async function openCollect({ checkout, stage, database, server, trees }: Ground): Promise<() => Promise<Round>> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  const platform = await checkout.openPlatform(checkout.readConfig({ ESPALIER_HOME: home, DATABASE_URL: database.url }), 'bench');
  stage.closing(() => platform.close());
  const kind = await checkout.openEnvironment('textcraft');
  const tasks = (await checkout.chooseTasks(kind, trees, 0)).map(({ alias }) => ({
    alias,
    rollouts: ROLLOUTS,
    branching: 'root',
  }));
  await kind.close();
  const asked = { environment: 'textcraft', tasks, taskSeed: 0, policy: 'linear', temperature: 1, maxSteps: 10, search: null };
  const plan = checkout.collectPlan.parse(asked);
  const signal = new AbortController().signal;
  return async () => {
    const run = { runId: randomUUID(), name: 'bench', seed: 1, plan, concurrency: 8, signal, mode: 'new' } as const;
    let steps = 0;
    const round = await measured(server, 1, async () => {
      steps = (await checkout.collect(platform, run)).steps;
    });
    return { ...round, events: steps };
  };
}

/**
 * From the bytes of requests with a key to the embedded log, by a server in this process. The run is projected before, for its
 * owner to be known; nothing is while the clock runs.
 */
async function openPost({ checkout, stage, database, server, trees }: Ground): Promise<() => Promise<Round>> {
  const platform = await checkout.openStagePlatform(stage);
  const api = await checkout.serveApi(platform, checkout.SILENT);
  stage.closing(() => api.close());
  const { key } = await checkout.createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'] });
  const post = async (lines: readonly string[]): Promise<void> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' };
    const answer = await fetch(`${api.url}/v1/events`, { method: 'POST', headers, body: lines.join('\n') });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  let round = 0;
  return async () => {
    const events = checkout.recordTrajectories({ ...checkout.GROUP, trees, name: `post ${round++}` });
    // A key derives its ids by rules of its own; those of the builder become drawn ones.
    const [run = '', ...lines] = events.map((event) => JSON.stringify(event).replace(DERIVED, '$14'));
    const projecting = await checkout.runProjections({ log: platform.log, database });
    await post([run]);
    await checkout.waitUntilProjected(database.db, await platform.log.ends(checkout.TOPICS), { timeoutMs: WAIT_MS });
    await projecting.close();
    return measured(server, lines.length, async () => {
      for (let from = 0; from < lines.length; from += BATCH) await post(lines.slice(from, from + BATCH));
    });
  };
}
const DERIVED = /\b([0-9a-f]{8}-[0-9a-f]{4}-)8/g;

/** Batches of 1,024 samples of 1,000 tokens, from the read models to the parts of a body; an event is a sample. */
async function openRows({ checkout, stage, database, server }: Ground, layout: 'step' | 'verl'): Promise<() => Promise<Round>> {
  const [batches, samples] = stage.size === 'quick' ? [1, 16] : [4, 1_024];
  const promptTokens = layout === 'step' ? 0 : 1_000;
  await checkout.fillBatches(database.db, { policyId: 'paired', batches, samples, tokens: 1_000, promptTokens });
  const { rows } = await database.pool.query<{ id: string }>('select batch_id as id from batches order by ordinal');
  const blobs = { get: (sha256: string) => Promise.reject(new Error(`no blob ${sha256}`)) };
  const { db } = database;
  return () =>
    measured(server, batches * samples, async () => {
      for (const { id } of rows) {
        const read = await checkout.readBatchRows(db, blobs, id);
        const prompts = layout === 'step' ? new Map() : await checkout.readPromptsOfRows(db, blobs, read);
        const encoded = checkout.encodeRows(read, layout, { prompts });
        if (encoded.kind === 'refused') throw new Error(encoded.message);
      }
    });
}

/** From the topics to the rows of all projections, in tables that each round finds empty. */
async function openProject(
  { checkout, database, server, trees }: Ground,
  log: EventLog,
  change = asTheyAre,
): Promise<() => Promise<Round>> {
  const { TOPICS, projections, schemaNameOf } = checkout;
  await log.ensureTopics(TOPICS, PARTITIONS);
  const tables = await database.pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname = any($1)`,
    [projections.map(schemaNameOf)],
  );
  let round = 0;
  return async () => {
    const events = change(checkout.recordTrajectories({ ...checkout.GROUP, trees, name: `round ${round++}` }));
    const records = checkout.recordsOf(events);
    for (let from = 0; from < records.length; from += SEND) await log.append(records.slice(from, from + SEND));
    await database.pool.query(`truncate ${tables.rows.map(({ name }) => name).join(', ')}`);
    await database.pool.query('checkpoint');
    const target = await log.ends(TOPICS);
    let began = Number.POSITIVE_INFINITY; // after the consumer has joined its group
    const report = (event: Parameters<NonNullable<Parameters<typeof checkout.runProjections>[0]['report']>>[0]) => {
      if (event.kind !== 'projected') throw new Error(`the projections did not run cleanly: ${JSON.stringify(event)}`);
      began = Math.min(began, performance.now() - event.milliseconds);
    };
    let seconds = 0;
    let close: () => Promise<void> = async () => undefined;
    const { cpu } = await measured(server, records.length, async () => {
      const projecting = await checkout.runProjections({ log, database, report });
      close = () => projecting.close();
      await checkout.waitUntilProjected(database.db, target, { timeoutMs: WAIT_MS, pollMs: 20 });
      seconds = (performance.now() - began) / 1_000;
    });
    await close();
    return { events: records.length, seconds, cpu };
  };
}

const REQUESTS = 100; // of a round; each counts as an event

/** A tree of 100 rollouts of 10 steps, asked for by requests that follow each other, without a port. */
async function openTree({ checkout, database, server }: Ground, fields: string): Promise<() => Promise<Round>> {
  const log = checkout.testLog();
  const events = checkout.recordTrajectories({ trees: 1, rollouts: 100, steps: 10, name: 'tree' });
  checkout.appendTo(log, events);
  for (const [topic, records] of log.topics) await checkout.projectSlice(database.db, log, topic, 0, records.length);
  await database.pool.query('analyze');
  const opened = events.find((event) => event.type === 'TreeOpened');
  if (opened?.type !== 'TreeOpened') throw new TypeError('the trajectories open a tree');
  const nothing = undefined as never; // blobs, notices and moments, which the query does not need
  const graphql = await checkout.createGraphql({
    db: database.db,
    log: nothing,
    blobs: nothing,
    notices: nothing,
    snapshots: nothing,
  });
  const body = JSON.stringify({ query: `{ tree(id: "${opened.data.treeId}") { steps { ${fields} } } }` });
  const headers = { 'content-type': 'application/json' };
  return () =>
    measured(server, REQUESTS, async () => {
      for (let i = 0; i < REQUESTS; i++) {
        const asked = new Request('http://api/graphql', { method: 'POST', headers, body });
        const answer = await graphql.fetch(asked, { principal: checkout.localPrincipal() });
        if (!(await answer.text()).startsWith('{"data":{"tree":{"steps":[{')) throw new Error('the tree was not answered');
      }
    });
}

export async function measured(server: number, events: number, work: () => Promise<void>): Promise<Round> {
  const before = await cpuSeconds(server);
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  const { node, postgres } = await cpuSeconds(server);
  return { events, seconds, cpu: { node: node - before.node, postgres: postgres - before.postgres } };
}
