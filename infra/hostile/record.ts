import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { prepareParsed } from '../../src/append/prepare-events.ts';
import { createRandom, type Random } from '../../src/domain/random/random.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { decode } from '../../src/events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../../src/events/envelope.ts';
import { newId } from '../../src/events/new-id.ts';
import { streamOf } from '../../src/events/stream-of.ts';
import type { LogRecord, Offsets } from '../../src/log/event-log.ts';
import { formatPosition } from '../../src/log/position.ts';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { createKey, SCOPES } from '../../src/postgres/keys.ts';
import { rowsWhere } from '../../src/postgres/rows-where.ts';
import { PromptUnreadable } from '../../src/projections/prompts/prompt-unreadable.ts';
import { readTable } from '../../src/projections/tables/read-table.ts';
import { readableTables } from '../../src/projections/tables/tables.ts';
import { everyTrajectory } from '../../src/projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { createDatabase } from '../../src/testing/database.ts';
import { followEvents } from '../../src/testing/live-client.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import { projectingAppender } from '../../src/testing/projecting-log.ts';
import { until } from '../../src/testing/until.ts';
import { type ChildProcess, startRole } from '../../src/testing/worker-process.ts';
import { DatasetError } from '../../src/usecases/datasets/dataset-error.ts';
import { exportTrajectories } from '../../src/usecases/datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../../src/usecases/datasets/export/formats.ts';
import { agentTrajDefaults } from '../../src/usecases/datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../../src/usecases/datasets/import/import-trajectories.ts';
import { drawOther, drawRequests, drawWorld, type World } from './record-draws.ts';
import {
  contentOf,
  factOf,
  LONG,
  type ModelTree,
  type Placed,
  REWARD_FIELDS,
  RecordModel,
  RUN_FIELDS,
  TREE_FIELDS,
} from './record-model.ts';
import type { Stage as WholeStage } from './stage.ts';

type Stage = Pick<WholeStage, 'platform' | 'env' | 'url'>;

const REQUESTS = 40; // of each client in a round
const KILLED = 0.03; // of the requests: a process is killed at them
const LIMIT_MS = 300_000; // on a machine that runs other things too

/**
 * Has several clients say colliding things of a few runs and trees, over two servers and into the log itself, while the servers and one
 * to three projectors are killed, and clients of another project say as much under the same ids; then compares what every reader of
 * either project shows with a model that folds the log by the rules alone, and with what an export becomes elsewhere. Round after round until the time is over. @throws Error that names the reader, the seed and the round where something differs.
 */
export async function tryRecord(stage: Stage, seed: number, seconds: number): Promise<number> {
  const servers = await Promise.all([openServer(stage), openServer(stage)]);
  const projectors = await Promise.all(Array.from({ length: (seed % 3) + 1 }, () => openProjector(stage)));
  const elsewhere = await openElsewhere(stage.platform);
  const follower = followEvents(stage.url.api);
  const other = await openOther(stage);
  let rounds = 0;
  try {
    for (const deadline = Date.now() + seconds * 1_000; rounds === 0 || Date.now() < deadline; rounds++) {
      const name = `record ${seed} ${rounds}`;
      await tryRound(stage, { servers, projectors, elsewhere, follower, other, name }).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      });
    }
    return rounds;
  } finally {
    await follower.close();
    await other.follower.close();
    await Promise.all([...servers, ...projectors].map((each) => each.close()));
    await elsewhere.close();
  }
}

/** Opens an empty installation on the same server of Postgres, into which exports are imported. */
export async function openElsewhere({ config }: Platform): Promise<Platform> {
  if (config.databaseUrl === null) throw new Error('the campaign needs the address of its database');
  const database = await createDatabase(config.databaseUrl, 'espalier_elsewhere', 'template0');
  const home = await mkdtemp(join(tmpdir(), 'espalier-elsewhere-'));
  const platform = await openPlatform(readConfig({ ESPALIER_HOME: home, DATABASE_URL: database.url }), 'test');
  return {
    ...platform,
    async close() {
      await platform.close();
      await database.drop();
      await rm(home, { recursive: true });
    },
  };
}

/** Who has a key of another project, and follows its events. */
export interface Other {
  readonly headers: typeof LOCAL;
  readonly follower: Round['follower'];
}

export async function openOther({ platform, url }: Stage): Promise<Other> {
  const { key } = await createKey(platform.database.db, {
    name: 'other',
    scopes: SCOPES.filter((scope) => scope !== 'admin'),
    projects: ['other'],
  });
  const headers = { authorization: `Bearer ${key}` } as unknown as typeof LOCAL; // another token in the same header
  return { headers, follower: followEvents(url.api, headers) };
}

export interface Killable {
  url(): string;
  /** Counts its kills: what an earlier process remembered, the present one does not. */
  generation(): number;
  kill(): Promise<void>;
  /** Waits until it serves, again where it was killed. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface Round {
  readonly servers: readonly Killable[];
  readonly projectors: readonly Killable[];
  /** Where what is exported is imported. */
  readonly elsewhere: Platform;
  readonly follower: ReturnType<typeof followEvents>;
  readonly other: Other;
  readonly name: string;
}

export async function tryRound(stage: Stage, { servers, projectors, elsewhere, follower, other, name }: Round): Promise<void> {
  const { platform } = stage;
  const start = await platform.log.ends(TOPICS);
  const world = drawWorld(name);
  const foreign = drawOther(world);
  const random = createRandom(name);
  const answers: Answer[] = [];
  const killer = createKiller([...servers, ...projectors], random.fork('kills'));
  const clients = ['one', 'two', 'three', 'four', 'five'].map((client, i) =>
    sendAll(
      { world: i < 3 ? world : foreign, headers: i < 3 ? LOCAL : other.headers, server: servers[i % servers.length] as Killable },
      random.fork(client),
      (answer) => {
        answers.push(answer);
        killer.onRequest();
      },
    ),
  );
  clients.push(appendAll(stage, world, random.fork('log')));
  try {
    await Promise.all(clients);
  } finally {
    await killer.settled();
  }
  const ends = await platform.log.ends(TOPICS);
  await waitUntilProjected(platform.database.db, ends, { timeoutMs: LIMIT_MS });
  const all = { ...world, runs: [...world.runs, ...foreign.runs], trees: [...world.trees, ...foreign.trees] };
  const streams = streamsOf(all);
  const records = (await readLog(stage, start, ends)).filter(({ event }) => streams.has(event.stream));
  const model = foldAll(records);
  compareAnswers(answers, model);
  const middle = cutAt(start, ends, random.fork('moment'));
  const then = foldAll(records.filter((record) => isBelow(record, middle)));
  await compareGraphql(stage, all, model);
  await compareGraphql(stage, all, then, { moment: middle });
  for (const reader of [{ headers: other.headers }, { headers: other.headers, moment: middle }]) {
    await compareGraphql(stage, foreign, reader.moment ? then : model, reader);
    await compareGraphql(stage, world, new RecordModel(), reader);
  }
  await compareLookups(stage, other, { world, foreign });
  await compareQuarantine(stage, records, model);
  await compareTables(stage, all, model);
  await compareExport(stage, elsewhere, all, model);
  await compareTrainingRows(stage, all, model, elsewhere.config.home);
  await compareSubscription(follower, streams, model.kept);
  const own = streamsOf(foreign);
  await compareSubscription(other.follower, streams, foldAll(records.filter(({ event }) => own.has(event.stream))).kept);
  await intrude(servers[0] as Killable, other, world, model, random.fork('intruder'));
  expectEqual('the log, to which another project appended', await platform.log.ends(TOPICS), ends);
}

function streamsOf({ runs, trees }: World): ReadonlySet<string> {
  return new Set([...runs, ...trees.map(({ treeId }) => treeId)]);
}

const NAMES = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** Ids alone are looked up in the own project only: what another one has under them is neither shown nor counted. */
async function compareLookups(
  { url }: Stage,
  { headers }: Other,
  { world, foreign }: { readonly world: World; readonly foreign: World },
): Promise<void> {
  const names = streamsOf(world);
  const ids = (kind: string, of: readonly string[]) => of.map((id, i) => `${kind}${i}: ${kind}(id: "${id}") { id treeId }`);
  for (const { steps, rollouts } of foreign.trees) {
    for (const query of [...ids('step', steps), ...ids('rollout', rollouts), 'runs(first: 50) { nodes { id } }']) {
      const text = await (await postQuery(url.api, headers, { query: `{ ${query} }` })).text();
      const leaked = (text.match(NAMES) ?? []).filter((name) => names.has(name));
      if (leaked.length > 0) throw new Error(`${query} shows what another project has: ${text.slice(0, 500)}`);
    }
  }
}

/** Sends facts of streams of another project: all are refused, in words that name nothing but what was sent. */
async function intrude(server: Killable, { headers }: Other, world: World, model: RecordModel, random: Random): Promise<void> {
  const next = drawRequests(world, random);
  const opened = new Set([...model.runs.keys(), ...[...model.trees].flatMap(([id, tree]) => (tree.opened ? [id] : []))]);
  for (let i = 0; i < REQUESTS; i++) {
    const events = next().filter(({ stream }) => opened.has(stream));
    const answer = events.length === 0 ? null : await post(server.url(), events, headers);
    if (answer === null) continue;
    const sent = JSON.stringify(events);
    const leaked = (answer.text.match(NAMES) ?? []).filter((name) => !sent.includes(name));
    const isOwnFault =
      answer.status === 409 && problemsOf(answer.text).every((message) => /\bevent \d+ of this request\b/.test(message));
    if ((![403, 422].includes(answer.status) && !isOwnFault) || leaked.length > 0)
      throw new Error(
        `an event of another project was answered ${answer.status}: ${answer.text.slice(0, 500)}; request ${sent.slice(0, 1_000)}`,
      );
  }
}

function problemsOf(text: string): readonly string[] {
  const { error } = JSON.parse(text) as { readonly error: { readonly problems: readonly { readonly message: string }[] } };
  return error.problems.map(({ message }) => message);
}

interface Answer {
  readonly events: readonly Envelope[];
  readonly status: number;
  readonly text: string;
  /** What the process that answered had acknowledged before, by run and fact or id: what it says. */
  readonly known: ReadonlyMap<string, string>;
}

/** Sends requests to a server; what no answer came to may be on record or not. */
async function sendAll(
  { world, headers, server }: { readonly world: World; readonly headers: typeof LOCAL; readonly server: Killable },
  random: Random,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  const next = drawRequests(world, random);
  const known = new Map<string, string>();
  let generation = '';
  for (let i = 0; i < REQUESTS; i++) {
    const events = next();
    if (generation !== String(server.generation())) known.clear();
    generation = String(server.generation());
    const before = new Map(known);
    const response = await post(server.url(), events, headers);
    if (response === null) {
      await server.ready();
      continue;
    }
    onAnswer({ events, ...response, known: before });
    if (response.status === 200 && generation === String(server.generation()))
      for (const event of events) known.set(factOfRun(event), contentOf(event));
  }
}

/** What is set aside for its run says nothing of the same fact of another run. */
function factOfRun(event: Envelope): string {
  return `${factOf(event) ?? event.id} ${event.correlationId}`;
}

async function post(
  url: string,
  events: readonly Envelope[],
  authorization: typeof LOCAL,
): Promise<{ status: number; text: string } | null> {
  try {
    const response = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify(events),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: response.status, text: await response.text() };
  } catch {
    return null; // the server was killed
  }
}

/** Appends to the log as a collector does, which asks nobody whether what it says is on record. */
async function appendAll({ platform: { log, blobs } }: Stage, world: World, random: Random): Promise<void> {
  const next = drawRequests(world, random);
  for (let i = 0; i < REQUESTS; i++) {
    const records: LogRecord[] = [];
    for (const event of next()) records.push(await prepareParsed({ ...event, ...DEFAULT_STAMP }, blobs));
    await log.append(records);
    await delay(random.int(40));
  }
}

/** Kills one process at a time, at drawn requests: a slow machine has as many kills as a quick one. */
function createKiller(all: readonly Killable[], random: Random) {
  let killing: Promise<void> | undefined;
  return {
    onRequest(): void {
      if (random.next() >= KILLED || killing !== undefined) return;
      killing = random
        .choice(all)
        .kill()
        .finally(() => {
          killing = undefined;
        });
      killing.catch(() => undefined); // a process that does not start again ends the round when it is waited for
    },
    settled: async () => killing,
  };
}

function foldAll(records: readonly Placed[]): RecordModel {
  const model = new RecordModel();
  for (const record of records) model.fold(record);
  return model;
}

/** Reads the records of all partitions between two positions, each in its order. */
async function readLog({ platform: { log } }: Stage, start: Offsets, ends: Offsets): Promise<readonly Placed[]> {
  const records: Placed[] = [];
  const reached = new Map<string, number>();
  const startOf = (topic: string, partition: number) => start.get(topic)?.get(partition) ?? 0;
  const subscription = await log.subscribe({
    group: `record ${newId()}`,
    topics: TOPICS,
    ephemeral: true,
    startAt: async (topic, partition) => startOf(topic, partition),
    handle: async ({ topic, partition, next, records: batch }) => {
      for (const { offset, value } of batch) {
        const decoded = decode(value);
        if (decoded.kind === 'refused') throw new Error(`${topic}.${partition}:${offset} is no event`);
        if (offset >= startOf(topic, partition) && offset < (ends.get(topic)?.get(partition) ?? 0))
          records.push({ place: `${topic}.${partition}:${offset}`, event: decoded.event });
      }
      reached.set(`${topic}.${partition}`, next);
      return { kind: 'done', next };
    },
  });
  await until(() =>
    [...ends].every(([topic, partitions]) =>
      [...partitions].every(
        ([partition, end]) => end <= startOf(topic, partition) || (reached.get(`${topic}.${partition}`) ?? 0) >= end,
      ),
    ),
  );
  await subscription.close();
  return records;
}

/** No request makes a server fail; it refuses only what contradicts the record, and accepts nothing that contradicts what it took. */
function compareAnswers(answers: readonly Answer[], model: RecordModel): void {
  for (const { events, status, text, known } of answers) {
    const request = JSON.stringify(events).slice(0, 2_000);
    const fail = (why: string): never => {
      throw new Error(`POST /v1/events was answered ${status}: ${why}; ${text.slice(0, 500)}; request ${request}`);
    };
    if (![200, 409, 422, 429, 503].includes(status)) fail('no such answer is due');
    const says = events.map((event) => ({ event, before: model.saidBefore(event), content: contentOf(event) }));
    if (status === 200) {
      for (const { event, before, content } of says) {
        if (before.id === undefined && before.fact === undefined) {
          const owner = model.runOf(event.stream);
          if (owner !== undefined && owner !== event.correlationId) continue; // of another run than its tree: the journal sets it aside
          fail(`${event.type} ${event.id} is not on record`);
        }
        const earlier = known.get(factOfRun(event));
        if (before.id === content || before.fact === content) continue; // another server, or the log, was told first: it repeats that
        if (earlier !== undefined && earlier !== content && event.type !== 'RewardRevised')
          fail(`${event.type} ${event.id} contradicts what this server took before`);
      }
    }
    if (status === 409) {
      const facts = new Map<string, string>();
      const contradicts = says.some(({ event, before, content }) => {
        const keys = [`${event.stream} ${event.id}`, factOf(event) ?? event.id];
        const inRequest = keys.some((key) => (facts.get(key) ?? content) !== content);
        for (const key of keys) facts.set(key, content);
        return (
          inRequest ||
          (before.id !== undefined && before.id !== content) ||
          (before.fact !== undefined && before.fact !== content)
        );
      });
      if (!contradicts) fail('nothing of it contradicts the record');
    }
  }
}

/** Asks until the database answers, which it may not do in time on a machine that runs other things too. */
async function ask(url: string, authorization: typeof LOCAL, body: object): Promise<Record<string, unknown>> {
  for (const deadline = Date.now() + LIMIT_MS; ; await delay(500)) {
    const response = await postQuery(url, authorization, body);
    const text = await response.text();
    const { data, errors } = JSON.parse(text) as { data?: Record<string, unknown>; errors?: unknown }; // as GraphQL answers
    if (!errors && data) return data;
    if (!text.includes('"UNAVAILABLE"') || Date.now() > deadline) throw new Error(`GraphQL answered ${text.slice(0, 1_000)}`);
  }
}

function postQuery(url: string, authorization: typeof LOCAL, body: object): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
}

interface Reader {
  /** Whose key reads; left out, the installation's own. */
  readonly headers?: typeof LOCAL;
  /** Of a read as of a position; left out, now. */
  readonly moment?: Offsets;
}

async function compareGraphql(
  { url }: Stage,
  world: World,
  model: RecordModel,
  { headers = LOCAL, moment }: Reader = {},
): Promise<void> {
  const asked = [
    ...world.trees.map(({ treeId }, i) => `t${i}: tree(id: "${treeId}") { ${TREE_FIELDS} }`),
    ...world.runs.map((runId, i) => `r${i}: run(id: "${runId}") { ${RUN_FIELDS} }`),
  ];
  for (const field of asked) {
    const query = moment === undefined ? `{ ${field} }` : `query ($at: String) { asOf(position: $at) { ${field} } }`;
    const spread = field.includes('...R') ? REWARD_FIELDS : '';
    const variables = moment === undefined ? {} : { at: formatPosition(moment) };
    const data = await ask(url.api, headers, { query: `${query} ${spread}`, variables });
    const [[key = '', shown]] = Object.entries(moment === undefined ? data : (data.asOf as object)) as [[string, unknown]];
    const at = Number(key.slice(1));
    const expected = key.startsWith('t')
      ? (model.trees.get(world.trees[at]?.treeId ?? '')?.shown() ?? null)
      : model.run(world.runs[at] ?? '');
    const reader = `GraphQL${headers === LOCAL ? '' : ' of another project'}`;
    expectEqual(moment === undefined ? reader : `${reader} as of ${formatPosition(moment)}`, byId(shown), byId(expected));
  }
}

async function compareQuarantine({ platform }: Stage, records: readonly Placed[], model: RecordModel): Promise<void> {
  const { rows } = await platform.database.pool.query<{ place: string }>(
    `select topic || '.' || partition || ':' || "offset" as place from quarantine where projection = 'journal'`,
  );
  const described = new Map(
    records.map(({ place, event: { type, id, correlationId } }) => [place, `${place} ${type} ${id} of run ${correlationId}`]),
  );
  const conflicts = (places: readonly string[]) => places.flatMap((place) => described.get(place) ?? []).sort();
  expectEqual('the quarantine of the journal', conflicts(rows.map(({ place }) => place)), conflicts(model.conflicts));
}

async function compareTables({ platform }: Stage, world: World, model: RecordModel): Promise<void> {
  const { db } = platform.database;
  const rowsOf = async (name: 'rewards' | 'steps') => {
    const table = readableTables[name];
    const rows: Record<string, unknown>[] = [];
    const pages = readTable(db, table, { runIds: world.runs }, { columns: table.columns, after: null, most: 100_000 });
    for await (const page of pages) rows.push(...(page.rows as readonly Record<string, unknown>[]));
    return rows;
  };
  const compare = (table: string, rows: readonly object[], due: readonly object[]) =>
    expectEqual(
      `the table ${table}`,
      rows.map((row) => JSON.stringify(row)).sort(),
      due.map((row) => JSON.stringify(row)).sort(),
    );
  const opened = [...model.trees].flatMap(([treeId, tree]) => (tree.opened ? [{ treeId, tree }] : []));
  const ofTrees = <Row extends object>(of: (tree: ModelTree, treeId: string) => readonly Row[]) =>
    opened.flatMap(({ treeId, tree }) => of(tree, treeId));
  compare(
    'of rewards',
    (await rowsOf('rewards')).map(({ treeId, rewardId, value }) => [treeId, rewardId, value]),
    ofTrees(({ rewards }, treeId) => [...rewards].map(([id, { value }]) => [treeId, id, value])),
  );
  compare(
    'of steps',
    (await rowsOf('steps')).map(({ treeId, stepId, depth }) => [treeId, stepId, depth]),
    ofTrees(({ steps }, treeId) => [...steps].map(([id, step]) => [treeId, id, step?.depth ?? 0])),
  );
  const treeId = world.trees.map((tree) => tree.treeId);
  const runId = world.runs;
  compare(
    'trees',
    await rowsWhere(db, 'trees', { treeId }, ['treeId', 'runId', 'closeReason']),
    opened.map(({ treeId: id, tree }) => ({ treeId: id, runId: tree.opened?.runId, closeReason: tree.closeReason })),
  );
  compare(
    'rollouts',
    await rowsWhere(db, 'rollouts', { treeId }, ['treeId', 'rolloutId', 'outcome', 'success']),
    ofTrees(({ rollouts, ends }, of) =>
      [...rollouts.keys()].map((id) => ({
        ...{ treeId: of, rolloutId: id, outcome: ends.get(id)?.outcome ?? null, success: ends.get(id)?.success ?? null },
      })),
    ),
  );
  compare(
    'revisions',
    await rowsWhere(db, 'revisions', { treeId }, ['treeId', 'revisionId', 'state']),
    ofTrees(({ revisions }, of) => [...revisions].map(([id, { state }]) => ({ treeId: of, revisionId: id, state }))),
  );
  compare(
    'annotations',
    await rowsWhere(db, 'annotations', { treeId, retractedAt: null }, ['treeId', 'annotationId', 'label', 'score']),
    ofTrees(({ annotations }, of) =>
      [...annotations].flatMap(
        ([
          id,
          {
            data: { label, score },
            retracted,
          },
        ]) => (retracted ? [] : [{ treeId: of, annotationId: id, label, score }]),
      ),
    ),
  );
  compare(
    'runs',
    await rowsWhere(db, 'runs', { runId }, ['runId', 'name', 'outcome']),
    [...model.runs].map(([id, { name, outcome }]) => ({ runId: id, name, outcome })),
  );
  compare(
    'replays',
    await rowsWhere(db, 'replays', { runId }, ['runId', 'replayId', 'compared']),
    model.replays.map(({ runId: of, replayId, compared }) => ({ runId: of, replayId, compared })),
  );
  compare(
    'evaluations',
    await rowsWhere(db, 'evaluations', { runId }, ['runId', 'tasks', 'meanReturn']),
    [...model.evaluations].map(([id, { tasks, meanReturn }]) => ({ runId: id, tasks, meanReturn })),
  );
}

/** Compares the rows of a format of training with the replies and the rewards of the model. */
async function compareTrainingRows({ platform }: Stage, world: World, model: RecordModel, folder: string): Promise<void> {
  const out = join(folder, 'chats.jsonl');
  const left = await exportReadable(platform, world, out);
  if (left.size === 0) return;
  const lines = (await readFile(out, 'utf8')).split('\n').filter((line) => line !== '');
  const shown = lines.map((line) => {
    const { messages, metadata } = JSON.parse(line) as Chat;
    return {
      tree: metadata.tree,
      rollout: metadata.trajectory,
      value: metadata.scores.find(({ name }) => name === 'return')?.value ?? null,
      replies: messages.flatMap(({ role, content }) =>
        role === 'assistant' ? [typeof content === 'string' ? content : content.map(({ text }) => text).join('')] : [],
      ),
    };
  });
  const due = [...model.trees].flatMap(([tree, known]) =>
    known.opened === null || !left.has(known.opened.runId)
      ? []
      : [...known.rollouts.keys()].flatMap((rollout) => {
          const trained = known.trained(rollout);
          return trained === null ? [] : [{ tree, rollout, ...trained }];
        }),
  );
  expectEqual('the export of chats', byId(shown), byId(due));
}

/**
 * Exports chats, but for runs that the export refuses since a prompt on a path of theirs cannot be put together: those of a world are drawn,
 * and hold texts that nobody recorded. Returns the runs of the file.
 */
async function exportReadable(platform: Platform, world: World, out: string): Promise<ReadonlySet<string>> {
  const left = new Set(world.runs);
  while (left.size > 0)
    try {
      await exportFrom(platform, { ...world, runs: [...left] }, out, { kind: 'openai', weights: 'own', metadata: 'include' });
      break;
    } catch (error) {
      if (!(error instanceof DatasetError && error.cause instanceof PromptUnreadable)) throw error;
      const { stepId } = error.cause;
      const rows = await platform.database.db
        .selectFrom('prompts')
        .innerJoin('trees', 'trees.treeId', 'prompts.treeId')
        .select('trees.runId')
        .where('prompts.stepId', '=', stepId)
        .execute();
      const refused = rows.filter(({ runId }) => left.delete(runId));
      if (refused.length === 0) throw error; // a step of these runs that was asked with no prompt
    }
  return left;
}

interface Chat {
  /** Their parts where a row of the file shows a picture. */
  readonly messages: readonly { readonly role: string; readonly content: string | readonly { readonly text: string }[] }[];
  readonly metadata: {
    readonly tree: string;
    readonly trajectory: string;
    readonly scores: readonly { readonly name: string; readonly value: number }[];
  };
}

const EXPORTED = new Set(['TreeOpened', 'RolloutStarted', 'StepTaken', 'RolloutFinished', 'TreeClosed']);

/** Compares an export with the model, and with the export of what its import becomes in another installation. */
async function compareExport({ platform }: Stage, elsewhere: Platform, world: World, model: RecordModel): Promise<void> {
  const [out, again] = ['record.jsonl', 'again.jsonl'].map((name) => join(elsewhere.config.home, name)) as [string, string];
  await exportFrom(platform, world, out);
  const bytes = await readFile(out);
  if (bytes.includes('"TreeOpened"')) {
    const { db } = elsewhere.database;
    await importTrajectories({
      source: out,
      form: 'detect',
      db,
      appender: projectingAppender(db, elsewhere.blobs),
      blobs: elsewhere.blobs,
      badRows: 'refuse',
      agentTraj: agentTrajDefaults,
      signal: AbortSignal.timeout(LIMIT_MS),
      onProgress: () => undefined,
    });
    await exportFrom(elsewhere, world, again);
    expectEqual(
      'the export of what was imported',
      (await readFile(again, 'utf8')).split('\n'),
      bytes.toString('utf8').split('\n'),
    );
  }
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  const facts = lines
    .map((line) => JSON.parse(line) as Envelope) // one each, as the export writes them
    .flatMap((event) =>
      EXPORTED.has(event.type) ? [factOf({ ...event, stream: streamOf(event.type, event.data) ?? '' }) ?? ''] : [],
    );
  const expected = [...model.trees].flatMap(([treeId, { opened, steps, rollouts, ends, closeReason }]) => {
    if (opened === null || ends.size === 0) return [];
    return [
      `${treeId} TreeOpened ${treeId}`,
      ...(closeReason === null ? [] : [`${treeId} TreeClosed ${treeId}`]),
      ...[...steps].flatMap(([id, step]) => (step === null ? [] : [`${treeId} StepTaken ${id}`])),
      ...[...rollouts.keys()].map((id) => `${treeId} RolloutStarted ${id}`),
      ...[...ends.keys()].map((id) => `${treeId} RolloutFinished ${id}`),
    ];
  });
  expectEqual('the export of events', facts.sort(), expected.sort());
}

async function exportFrom(
  { database, blobs }: Platform,
  { runs }: World,
  out: string,
  format: ExportFormat = { kind: 'jsonl', scope: 'trees' },
): Promise<void> {
  await exportTrajectories({
    db: database.db,
    blobs,
    query: { ...everyTrajectory, runs },
    format,
    out,
    existing: 'replace',
    empty: 'allow',
    codeVersion: 'test',
    waitMs: LIMIT_MS,
    signal: AbortSignal.timeout(LIMIT_MS),
    onProgress: () => undefined,
  });
}

async function compareSubscription(
  { received }: Round['follower'],
  streams: ReadonlySet<string>,
  kept: RecordModel['kept'],
): Promise<void> {
  const own = () => received.filter(({ stream }) => streams.has(stream)).map(({ id }) => id);
  await until(() => own().length >= kept.length, 30_000).catch(() => undefined); // compared below
  expectEqual('the subscription', own().sort(), [...kept].sort());
}

function cutAt(start: Offsets, ends: Offsets, random: Random): Offsets {
  return new Map(
    [...ends].map(([topic, partitions]) => [
      topic,
      new Map(
        [...partitions].map(([partition, end]) => {
          const from = start.get(topic)?.get(partition) ?? 0;
          return [partition, from + random.int(end - from + 1)];
        }),
      ),
    ]),
  );
}

function isBelow({ place }: Placed, moment: Offsets): boolean {
  const [, topic = '', partition, offset] = /^(\w+)\.(\d+):(\d+)$/.exec(place) ?? [];
  return Number(offset) < (moment.get(topic)?.get(Number(partition)) ?? 0);
}

/** Sorts every list of entities by their ids, as the order of lists is another test's matter, and cuts long texts. */
function byId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(byId).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value === 'string' && value.length > 1_000) return LONG;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, byId(inner)]));
}

function expectEqual(reader: string, shown: unknown, expected: unknown): void {
  if (isDeepStrictEqual(shown, expected)) return;
  const [a, b] = [leavesOf(shown), leavesOf(expected)];
  const only = (some: readonly string[], others: readonly string[]) => some.filter((leaf) => !others.includes(leaf)).slice(0, 8);
  throw new Error(`${reader} differs from the model: shown ${JSON.stringify(only(a, b))}, due ${JSON.stringify(only(b, a))}`);
}

function leavesOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null && 'id' in each))
    return value.flatMap((each) => leavesOf(each, `${path}/${each.id.slice(0, 8)}`));
  if (Array.isArray(value)) return value.map((each) => `${path} ${JSON.stringify(each)}`);
  if (typeof value !== 'object' || value === null) return [`${path} = ${JSON.stringify(value).slice(0, 200)}`];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, `${path}.${key}`));
}

function openServer({ env }: Stage): Promise<Killable> {
  return openRole('api', env, /"serving".*"url":"(http:[^"]*?)"/);
}

function openProjector({ env }: Stage): Promise<Killable> {
  return openRole('project', env, /"projecting"/);
}

/** Starts a process that is started again when it is killed. */
export async function openRole(role: string, env: Stage['env'], ready: RegExp): Promise<Killable> {
  let [child, url, generation]: [ChildProcess, string, number] = [startRole(role, env), '', 0];
  const begun = async () => {
    url = (await child.saying(ready, LIMIT_MS))[1] ?? '';
  };
  let serving = begun();
  await serving;
  return {
    url: () => url,
    generation: () => generation,
    async kill() {
      generation++;
      child.kill('SIGKILL');
      await child.ended;
      child = startRole(role, env);
      serving = begun();
      await serving;
    },
    // it is killed before its clients hear of it: who finds it gone may ask a moment before the next one is begun
    ready: async () => {
      await delay(200);
      await serving;
    },
    async close() {
      child.kill('SIGKILL');
      await child.ended;
    },
  };
}
