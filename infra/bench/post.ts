import { serveApi } from '../../src/app/serve-api.ts';
import { startInThread } from '../../src/app/start-in-thread.ts';
import { prepareEvents } from '../../src/append/prepare-events.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { DEFAULT_STAMP, type Envelope } from '../../src/events/envelope.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { type BenchResult, median, timed } from './bench-result.ts';
import { type ClientRequest, type Clients, startClients } from './http-clients.ts';
import { openStagePlatform, type Size, type Stage } from './stage.ts';
import { meanStepBytes, recordTrajectories } from './trajectories.ts';

const CLIENTS = 4;
const TREES: Record<Size, number> = { full: 30, quick: 1 }; // of each client: groups of 8 rollouts of 20 steps
const STEPS_PER_TREE = 160;
const ROUNDS: Record<Size, number> = { full: 5, quick: 1 };
const REQUEST_BYTES = 2 ** 20; // at most, as those of the Python client
const BATCH = 500;
const WAIT_MS = 300_000;

/** Of one round: the platform, its clients, and the name and size of the runs that are sent. */
interface Round {
  readonly platform: Platform;
  readonly clients: Clients;
  readonly name: string;
  readonly trees: number;
}

/**
 * Measures `POST /v1/events` with a key, as `espalier up` serves it: clients in a process of their own send steps of 1 kB with
 * what belongs to them, until they are in the embedded log, and until all projections, in a thread of the server's process, hold
 * them: by a thread that has projected as much before. The baselines append the same records, prepared before, without HTTP. Ways
 * take turns.
 */
export async function benchPost(stage: Stage): Promise<BenchResult> {
  const platform = await openStagePlatform(stage);
  const api = await serveApi(platform, SILENT);
  stage.closing(() => api.close());
  const { key } = await createKey(platform.database.db, { name: 'bench', scopes: ['ingest', 'read'] });
  const clients = await startClients(api.url, { authorization: `Bearer ${key}` });
  stage.closing(() => clients.close());
  const trees = TREES[stage.size];
  const steps = CLIENTS * trees * STEPS_PER_TREE;
  const rates: Record<keyof typeof WAYS, number[]> = { durable: [], appended: [], queryable: [], projected: [] };
  const warmUp = stage.size === 'full' ? 1 : 0;
  for (let round = -warmUp; round < ROUNDS[stage.size]; round++)
    for (const way of Object.keys(rates) as (keyof typeof WAYS)[]) {
      // the names above
      const seconds = await WAYS[way]({ platform, clients, name: `${way} ${round}`, trees });
      if (round >= 0) rates[way].push(steps / seconds);
    }
  const figure = (way: 'durable' | 'queryable', baseline: keyof typeof WAYS, limit: number) => ({
    name: `POST /v1/events, ${way}`,
    value: median(rates[way]),
    unit: 'steps/s' as const,
    baseline: { name: 'the same records without HTTP', value: median(rates[baseline]), unit: 'steps/s' as const },
    floor: { kind: 'at-least' as const, limit },
  });
  const [events = []] = eventsOf('durable 0', 1, 1);
  return {
    bench: 'post',
    figures: [figure('durable', 'appended', 9_000), figure('queryable', 'projected', 5_000)],
    conditions: {
      steps: `${steps} of a round, ${(events.length / STEPS_PER_TREE).toFixed(2)} events each`,
      'bytes per StepTaken': meanStepBytes(events),
      clients: `${CLIENTS} of one process, requests of 1 MB`,
      rounds: `${ROUNDS[stage.size]}, the median`,
      ...stage.conditions(),
    },
  };
}

/** What one round takes, in seconds. `appended` and `projected` do without HTTP what `durable` and `queryable` do with it. */
const WAYS = {
  async durable(round: Round) {
    const projecting = await project(round.platform);
    await openRuns(round);
    await projecting.close();
    return timed(() => round.clients.run());
  },
  async appended({ platform, name, trees }: Round) {
    const records = await recordsOf(name, trees);
    return timed(() => appendAll(platform, records));
  },
  async queryable(round: Round) {
    return warm(round, async (turn) => {
      await openRuns(turn);
      return timed(async () => {
        await turn.clients.run();
        await untilProjected(turn.platform);
      });
    });
  },
  async projected(round: Round) {
    return warm(round, async ({ platform, name, trees }) => {
      const records = await recordsOf(name, trees);
      return timed(async () => {
        await appendAll(platform, records);
        await untilProjected(platform);
      });
    });
  },
};

/** Does it twice by one thread that projects; returns what the second took: the first is slower, its code is compiled. */
async function warm(round: Round, once: (turn: Round) => Promise<number>): Promise<number> {
  const projecting = await project(round.platform);
  await untilProjected(round.platform);
  await once({ ...round, name: `${round.name} first` });
  const seconds = await once({ ...round, name: `${round.name} second` });
  await projecting.close();
  return seconds;
}

function project(platform: Platform) {
  return startInThread('project', platform, SILENT);
}

async function untilProjected({ log, database }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS, pollMs: 20 });
}

/** Sends what opens the runs of the clients, waits until their owner is known, and prepares the requests of the round. */
async function openRuns({ platform, clients, name, trees }: Round): Promise<void> {
  const lanes = eventsOf(name, CLIENTS, trees).map(requestsOf);
  await clients.prepare({ lanes: lanes.map((requests) => requests.slice(0, 1)) });
  await clients.run();
  await untilProjected(platform);
  await clients.prepare({ lanes: lanes.map((requests) => requests.slice(1)) });
}

/** The events of each client: first what opens its run. A key derives ids by rules of its own; here they are drawn ones. */
function eventsOf(name: string, clients: number, trees: number): readonly (readonly Envelope[])[] {
  const shape = { trees, rollouts: 8, steps: STEPS_PER_TREE / 8 };
  return Array.from({ length: clients }, (_, i) => {
    const events = JSON.stringify(recordTrajectories({ ...shape, name: `${name} client ${i}` }));
    return JSON.parse(events.replace(DERIVED, '$14')) as readonly Envelope[]; // as they were, but for a digit of their ids
  });
}
const DERIVED = /\b([0-9a-f]{8}-[0-9a-f]{4}-)8/g;

/** Requests of NDJSON: the first event by itself, then as many as fit into one. */
function requestsOf([run, ...events]: readonly Envelope[]): readonly ClientRequest[] {
  const bodies = [`${JSON.stringify(run)}\n`];
  let body = '';
  for (const line of events.map((event) => `${JSON.stringify(event)}\n`)) {
    if (body.length + line.length > REQUEST_BYTES && body !== '') {
      bodies.push(body); // of ASCII
      body = '';
    }
    body += line;
  }
  const headers = { 'content-type': 'application/x-ndjson' };
  return [...bodies, body].map((each) => ({ method: 'POST', path: '/v1/events', body: each, headers }));
}

async function recordsOf(name: string, trees: number): Promise<readonly (readonly LogRecord[])[]> {
  const blobs = undefined as never; // no text is long
  return Promise.all(eventsOf(name, CLIENTS, trees).map((events) => prepareEvents(events, blobs, DEFAULT_STAMP)));
}

/** Appends what each client would send, all at the same time. */
async function appendAll({ log }: Pick<Platform, 'log'>, clients: readonly (readonly LogRecord[])[]): Promise<void> {
  await Promise.all(
    clients.map(async (records) => {
      for (let from = 0; from < records.length; from += BATCH) await log.append(records.slice(from, from + BATCH));
    }),
  );
}
