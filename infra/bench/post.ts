import { projectInThread } from '../../src/app/project-in-thread.ts';
import { serveApi } from '../../src/app/serve-api.ts';
import { prepareEvents } from '../../src/append/prepare-events.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import type { Outcome } from './outcome.ts';
import { median } from './percentile.ts';
import { type Clients, eventsOf, type Sending, STEPS_PER_TREE, startClients } from './post-client.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { meanStepBytes } from './trajectories.ts';

const CLIENTS = 4;
const TREES: Record<Size, number> = { full: 30, quick: 1 }; // of each client
const ROUNDS: Record<Size, number> = { full: 5, quick: 1 };
const REQUEST_BYTES = 2 ** 20;
const BATCH = 500;
const DURABLE = 12_000;
const QUERYABLE = 8_000;
const WAIT_MS = 300_000;

/**
 * Measures `POST /v1/events` with a key, as `espalier up` serves it: clients in a process of their own send steps of 1 kB with
 * what belongs to them, until they are in the embedded log, and until all projections, in a thread of the server's process, hold
 * them: by a thread that has projected as much before. The baselines append the same records, prepared before, without HTTP. Ways
 * take turns.
 */
export async function benchPost(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const api = await serveApi(platform, SILENT);
  stage.closing(() => api.close());
  const { key } = await createKey(platform.database.db, { name: 'bench', scopes: ['ingest', 'read'] });
  const clients = await startClients(api.url, key);
  stage.closing(() => clients.close());
  const trees = TREES[stage.size];
  const steps = CLIENTS * trees * STEPS_PER_TREE;
  const rates = { durable: [], appended: [], queryable: [], projected: [] } as Record<Way, number[]>;
  const warmUp = stage.size === 'full' ? 1 : 0;
  for (let round = -warmUp; round < ROUNDS[stage.size]; round++)
    for (const way of Object.keys(rates) as Way[]) {
      // the names above
      const sending = { name: `${way} ${round}`, clients: CLIENTS, trees, requestBytes: REQUEST_BYTES };
      const seconds = await WAYS[way](platform, clients, sending);
      if (round >= 0) rates[way].push(steps / seconds);
    }
  const figure = (way: Way, baseline: Way, limit: number) => ({
    name: `POST /v1/events, ${way}`,
    value: median(rates[way]),
    unit: 'steps/s' as const,
    baseline: { name: 'the same records without HTTP', value: median(rates[baseline]), unit: 'steps/s' as const },
    goal: { kind: 'at-least' as const, limit },
  });
  const [events = []] = eventsOf({ name: 'durable 0', clients: 1, trees: 1 });
  return {
    bench: 'post',
    figures: [figure('durable', 'appended', DURABLE), figure('queryable', 'projected', QUERYABLE)],
    conditions: {
      steps: `${steps} of a round, ${(events.length / STEPS_PER_TREE).toFixed(2)} events each`,
      'bytes per StepTaken': meanStepBytes(events),
      clients: `${CLIENTS} of one process, requests of 1 MB`,
      rounds: `${ROUNDS[stage.size]}, the median`,
      ...stage.conditions(),
    },
  };
}

/** `appended` and `projected`: the records of what is `durable` and `queryable` otherwise, without HTTP. */
type Way = 'durable' | 'queryable' | 'appended' | 'projected';

/** What one round takes, in seconds. */
const WAYS: Record<Way, (platform: Platform, clients: Clients, sending: Sending) => Promise<number>> = {
  async durable(platform, clients, sending) {
    const projecting = await project(platform);
    await clients.open(sending);
    await projected(platform); // whose the runs are
    await projecting.close();
    return timed(() => clients.send());
  },
  async appended({ log }, _clients, sending) {
    const records = await recordsOf(sending);
    return timed(() => appendAll({ log }, records));
  },
  async queryable(platform, clients, sending) {
    return warm(platform, async (turn) => {
      await clients.open({ ...sending, name: `${sending.name} ${turn}` });
      await projected(platform);
      return timed(async () => {
        await clients.send();
        await projected(platform);
      });
    });
  },
  async projected(platform, _clients, sending) {
    return warm(platform, async (turn) => {
      const records = await recordsOf({ ...sending, name: `${sending.name} ${turn}` });
      return timed(async () => {
        await appendAll(platform, records);
        await projected(platform);
      });
    });
  },
};

/** Does it twice by one thread that projects; returns what the second took: the first is slower, its code is compiled. */
async function warm(platform: Platform, once: (turn: number) => Promise<number>): Promise<number> {
  const projecting = await project(platform);
  await projected(platform);
  await once(0);
  const seconds = await once(1);
  await projecting.close();
  return seconds;
}

function project(platform: Platform) {
  return projectInThread(platform, SILENT);
}

async function projected({ log, database }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS, pollMs: 20 });
}

async function recordsOf(sending: Sending): Promise<readonly (readonly LogRecord[])[]> {
  const blobs = undefined as never; // no text is long
  return Promise.all(eventsOf(sending).map((events) => prepareEvents(events, blobs, DEFAULT_STAMP)));
}

/** Appends what each client would send, next to the others. */
async function appendAll({ log }: Pick<Platform, 'log'>, clients: readonly (readonly LogRecord[])[]): Promise<void> {
  await Promise.all(
    clients.map(async (records) => {
      for (let from = 0; from < records.length; from += BATCH) await log.append(records.slice(from, from + BATCH));
    }),
  );
}

/** Returns the seconds that it took. */
async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
