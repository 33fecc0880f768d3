import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import { lineageIdOf } from '../../src/training/leases/lineage-of.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { type Figure, percentile } from './bench-result.ts';
import { fillBatches } from './fill-batches.ts';
import { type ClientRequest, startClients } from './http-clients.ts';
import { openStagePlatform, type Size, type Stage, type StageDatabase } from './stage.ts';

const PATHS = 32; // aliases of one query: ids, steps and rewards together are below the limit of rows
const DEPTH: Record<Size, number> = { full: 1_000, quick: 20 }; // as long as so many paths together may be, and a path by itself
const TREE: Record<Size, number> = { full: 100_000, quick: 1_000 }; // steps
const CONNECTIONS = 8; // that repeat it
const SUBSCRIPTIONS: Record<Size, number> = { full: 600, quick: 80 };
const ROUNDS: Record<Size, number> = { full: 100, quick: 5 };
const LIMIT_MS = 250;
const CHUNK = 5_000; // events

/**
 * Measures what others notice of the worst that is allowed: clients that repeat a query for 32 paths of a tree of 100,000 steps,
 * and one that opens 600 subscriptions, while health, ingest and lease claims are requested one after the other. The baselines
 * are the same requests without them.
 */
export async function measureWorstQueries(stage: Stage): Promise<readonly Figure[]> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const { builder, runId, leaves } = await recordTree(database, stage.size);
  await fillBatches(database.db, { policyId: 'bench', batches: 1, samples: 16, tokens: 16 });
  const registered = { policyId: 'bench', backend: 'bench', weights: 'a'.repeat(64), kept: null };
  await openLeaseService(platform).registerPolicy(registered);
  // As the projection of owners folds it: no projector runs here.
  const owner = `insert into owners (stream, topic, principal, project) values ($1, 'training', 'local', 'default')`;
  await database.pool.query(owner, [lineageIdOf('bench')]);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const clients = await startClients(server.url, { ...LOCAL, accept: 'application/json' });
  stage.closing(() => clients.close());

  const { key } = await createKey(database.db, { name: 'probe', scopes: ['admin'], projects: 'all' });
  const headers = { authorization: `Bearer ${key}` };
  const metric = (i: number) => builder.record('MetricRecorded', { runId, metric: 'probe', value: i, at: i }, runId);
  const claim = JSON.stringify({ policyId: 'bench', consumer: 'bench', ttlMs: 600_000 });
  const probes = (i: number): readonly ClientRequest[] => [
    { method: 'GET', path: '/healthz', headers },
    { method: 'POST', path: '/v1/events', body: JSON.stringify(metric(i)), headers },
    { method: 'POST', path: '/v1/training/leases', body: claim, headers },
  ];
  const rounds = ROUNDS[stage.size];
  const lane = (from: number) => Array.from({ length: rounds }, (_, i) => probes(from + i)).flat();
  await clients.prepare({ lanes: [lane(0)] });
  const idle = await clients.run();

  const paths = leaves.map(
    (leaf, i) => `p${i}: path(leaf: "${leaf}") { id depth action observation response rewards { value } }`,
  );
  const query = JSON.stringify({ query: `{ ${paths.join(' ')} }` });
  const subscription = JSON.stringify({ query: 'subscription { events { id data } }' });
  const graphql = (body: string) => ({ method: 'POST', path: '/graphql', body }) as const;
  const stream = { ...graphql(subscription), headers: { accept: 'text/event-stream' }, repeated: false };
  await clients.prepare({
    lanes: [lane(rounds)],
    background: [
      ...Array.from({ length: CONNECTIONS }, () => ({ ...graphql(query), repeated: true })),
      ...Array.from({ length: SUBSCRIPTIONS[stage.size] }, () => stream),
    ],
  });
  const loaded = await clients.run();
  if (stage.size === 'full' && loaded.background.answered === 0)
    throw new Error('no query was answered, so that there was no load');
  const at = (done: typeof idle, probe: number) =>
    percentile(done.milliseconds[0]?.filter((_, i) => i % 3 === probe) ?? [], 0.99);
  return ['GET /healthz', 'POST /v1/events', 'lease claim'].map((name, probe) => ({
    name: `${name} under the worst queries (${loaded.background.answered} answered), p99`,
    value: at(loaded, probe),
    unit: 'ms',
    baseline: { name: 'without them', value: at(idle, probe), unit: 'ms' },
    floor: { kind: 'below', limit: LIMIT_MS },
  }));
}

/** Records a tree of many long rollouts, and names the leaves of the longest paths. */
async function recordTree({ db, pool }: StageDatabase, size: Size) {
  const builder = new EventBuilder('worst queries');
  const runId = builder.run('worst queries');
  const tree = builder.tree(runId, 'wide');
  const walks = Array.from({ length: TREE[size] / DEPTH[size] }, (_, i) => builder.walk(tree, i, DEPTH[size], 1));
  const log = testLog();
  appendTo(log, builder.events);
  for (const [topic, records] of log.topics)
    for (let from = 0; from < records.length; from += CHUNK)
      await projectSlice(db, log, topic, from, Math.min(records.length, from + CHUNK));
  await pool.query('analyze');
  return { builder, runId, leaves: walks.slice(0, PATHS).map(({ steps }) => steps.at(-1) ?? '') };
}
