import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../domain/random/random.ts';
import { TOPICS } from '../events/catalogue.ts';
import { decode } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { collect } from '../usecases/collect/collect.ts';
import { treeIdOf } from '../usecases/collect/collect-tree.ts';
import type { CollectPlan } from '../usecases/collect/plan.ts';
import { createTestDatabase } from './database.ts';
import { givenEvents } from './given-events.ts';
import { readModels } from './read-models.ts';
import { type ChildProcess, startRole } from './worker-process.ts';

/** The run of the crash tests: small, of several depths, with one bushy tree; about a hundred events. */
export const plan: CollectPlan = {
  environment: 'textcraft',
  tasks: [
    { alias: '0', rollouts: 3, branching: 'root' },
    { alias: '40', rollouts: 3, branching: 'root' },
    { alias: '7', rollouts: 3, branching: 'anywhere' },
    { alias: '90', rollouts: 3, branching: 'root' },
  ],
  taskSeed: 0,
  policy: 'planner:0.4',
  temperature: 1,
  maxSteps: 12,
  search: null,
};

/** Searches to be killed: two trees, about two hundred events. */
export const searchPlan: CollectPlan = {
  ...plan,
  tasks: [
    { alias: '40', rollouts: 3, branching: 'root' },
    { alias: '90', rollouts: 3, branching: 'root' },
  ],
  search: { iterations: 3, candidates: 3, maxDepth: 6, exploration: 0.25 },
};

type Home = Platform & { readonly home: string };

/** Collects the run in this process, undisturbed; returns its id. */
export async function collectUndisturbed(platform: Home, seed: number, planned = plan): Promise<string> {
  const runId = newId();
  const projector = await runProjections({ log: platform.log, database: platform.database });
  try {
    await collect(platform, {
      runId,
      name: 'undisturbed',
      seed,
      plan: planned,
      concurrency: 8,
      mode: 'new',
      signal: new AbortController().signal,
    });
    await settle(platform);
  } finally {
    await projector.close();
  }
  return runId;
}

/** The environment of worker processes that work on a test's platform. */
export function environmentOf({ databaseUrl, home, config }: Home): Readonly<Record<string, string>> {
  return {
    DATABASE_URL: databaseUrl,
    ESPALIER_HOME: home,
    ESPALIER_PARTITIONS: String(config.partitions),
    ESPALIER_PORT: '0',
    ...(config.kafkaBrokers
      ? {
          KAFKA_BROKERS: config.kafkaBrokers.join(','),
          ESPALIER_KAFKA_PREFIX: config.kafkaPrefix,
          ESPALIER_KAFKA_SESSION_MS: '6000', // how long the group waits for a killed member; brokers take no less
        }
      : {}),
  };
}

export type Victim = 'collector' | 'projector';

/** What happened to a run: at how many events of the log each kill happened, and of which process. */
export interface Crashed {
  readonly runId: string;
  readonly kills: readonly { readonly victim: Victim; readonly events: number }[];
}

/**
 * Collects the run by a collector and `projectors` projector processes, and kills one of them each time the log has grown by the
 * next of the seeded numbers of events; what was killed is started again. Resolves when the collector has ended by itself.
 */
export async function collectCrashing(
  platform: Home,
  options: {
    readonly seed: number;
    readonly victims: readonly Victim[];
    readonly kills: number;
    readonly projectors?: number;
    readonly plan?: CollectPlan;
  },
): Promise<Crashed> {
  const { runId, startCollector } = await planRun(platform, options.seed, options.plan);
  const random = createRandom(options.seed);
  const startProjector = () => startRole('project', environmentOf(platform));
  const projectors = Array.from({ length: options.projectors ?? 1 }, startProjector);
  await Promise.all(projectors.map((projector) => projector.saying(/"projecting"/)));
  let collector = startCollector();
  const kills: { victim: Victim; events: number }[] = [];
  let turn = 0;
  while (kills.length < options.kills) {
    const more = 1 + random.int(20);
    if (!(await untilEvents(platform, (await countEvents(platform)) + more, collector))) break; // it came to its end before
    const victim = options.victims[random.int(options.victims.length)] ?? 'collector';
    if (victim === 'collector') {
      await killed(collector);
      collector = startCollector();
    } else {
      const index = turn++ % projectors.length;
      const projector = projectors[index];
      if (projector) await killed(projector);
      projectors[index] = startProjector();
    }
    kills.push({ victim, events: await countEvents(platform) });
  }
  await finish(platform, collector, projectors);
  return { runId, kills };
}

/** Writes the plan file of a run of its own; `startCollector` starts a collector on it. */
export async function planRun(
  platform: Home,
  seed: number,
  planned = plan,
): Promise<{ runId: string; startCollector(): ChildProcess }> {
  const runId = newId();
  const file = join(platform.home, `plan-${runId}.json`);
  await writeFile(file, JSON.stringify({ runId, name: 'crashing', seed, plan: planned }));
  return { runId, startCollector: () => startRole('collect', environmentOf(platform), file) };
}

/**
 * Waits until the collector has ended and its events are projected, and stops the projectors. @throws when one of them ended
 * otherwise.
 */
export async function finish(platform: Home, collector: ChildProcess, projectors: readonly ChildProcess[]): Promise<void> {
  const code = await collector.ended;
  if (code !== 0) throw new Error(`the collector ended with ${code}:\n${collector.stderr()}`);
  await settle(platform);
  // One that is still starting has no handler of its own for the signal yet.
  await Promise.all(projectors.map((projector) => projector.saying(/"projecting"/)));
  for (const projector of projectors) projector.kill('SIGTERM');
  const ends = await Promise.all(projectors.map(({ ended }) => ended));
  if (ends.some((end) => end !== 0))
    throw new Error(`projectors ended with ${ends}: ${projectors.map((p) => p.stderr()).join('\n')}`);
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await child.ended;
}

/** Waits until the log holds so many events; false when the collector ended by itself before. */
async function untilEvents(platform: Home, events: number, collector: ChildProcess): Promise<boolean> {
  let over = false;
  void collector.ended.then(() => {
    over = true;
  });
  const deadline = Date.now() + 30_000;
  while (!over) {
    if ((await countEvents(platform)) >= events) return true;
    if (Date.now() > deadline)
      throw new Error(`the log never reached ${events} events; the collector said:\n${collector.stderr()}`);
    await delay(1);
  }
  return false;
}

export async function countEvents({ log }: Platform): Promise<number> {
  let events = 0;
  for (const partitions of (await log.ends(TOPICS)).values()) for (const end of partitions.values()) events += end;
  return events;
}

export async function settle({ log, database }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 20_000 });
}

/** What must hold of a record after any crash, as one value to compare. */
export interface Soundness {
  readonly anomalies: readonly { readonly kind: string; readonly detail: string }[];
  readonly quarantined: readonly unknown[];
  readonly trees: number;
  /** Events in the journal by type, but for those by which a collector takes over what another one began. */
  readonly events: Readonly<Record<string, number>>;
}

/** Returns what is wrong with a record, and the number of its events by type. */
export async function soundnessOf({ db }: Database, runId: string, planned = plan): Promise<Soundness> {
  const anomalies = await db.selectFrom('anomalies').select(['kind', 'detail']).execute();
  const quarantined = await db.selectFrom('quarantine').select(['projection', 'code', 'field', 'reason']).execute();
  const events = await db
    .selectFrom('events')
    .select((e) => ['type', e.fn.countAll<number>().as('count')])
    .where('correlationId', '=', runId)
    .where('type', 'not in', ['RunResumed', 'TreeResumed'])
    .groupBy('type')
    .orderBy('type')
    .execute();
  const ids = planned.tasks.map((task, index) => treeIdOf(runId, task, index));
  const trees = await db
    .selectFrom('trees')
    .select('treeId')
    .where('treeId', 'in', ids)
    .where('closedAt', 'is not', null)
    .execute();
  return {
    anomalies,
    quarantined,
    trees: trees.length,
    events: Object.fromEntries(events.map(({ type, count }) => [type, Number(count)])),
  };
}

// Where a row's event lies in the log is not what it says; cursors of another log have other numbers.
const PLACES = ['offset', 'partition', 'log_offset', 'received_at'];

/** Reads the read models of a platform, and those that its journal folds into when it is read into an empty database. */
export async function liveAndRebuilt({ database }: Platform): Promise<{ readonly live: object; readonly rebuilt: object }> {
  const rows = await database.db
    .selectFrom('events')
    .select(['body'])
    .orderBy('topic')
    .orderBy('partition')
    .orderBy('offset')
    .execute();
  const { anomalies: _live, ...live } = await readModels(database.db, PLACES);
  const empty = await createTestDatabase();
  const other = await openDatabase(empty.url);
  try {
    await givenEvents(
      other.db,
      rows.map(({ body }) => eventOf(body)),
    );
    const { anomalies: _rebuilt, ...rebuilt } = await readModels(other.db, PLACES);
    return { live, rebuilt };
  } finally {
    await other.close();
    await empty.drop();
  }
}

function eventOf(body: string): Envelope {
  const decoded = decode(Buffer.from(body));
  if (decoded.kind === 'refused') throw new Error(`the journal holds what does not decode: ${decoded.refusal.message}`);
  return decoded.event;
}
