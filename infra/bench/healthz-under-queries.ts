import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import { lineageIdOf } from '../../src/training/leases/lineage-id.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { fillBatches } from './fill-batches.ts';
import { type Loaded, loadFromOutside, type Probe } from './healthz-client.ts';
import type { Figure, Outcome } from './outcome.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const PATHS = 48; // aliases of one query
const DEPTH: Record<Size, number> = { full: 1_000, quick: 20 }; // as long as 48 paths together may be, and a path alone
const TREE: Record<Size, number> = { full: 100_000, quick: 1_000 }; // steps
const ASKING = 8; // connections that ask for it without end
const SUBSCRIPTIONS: Record<Size, number> = { full: 600, quick: 80 };
const ROUNDS: Record<Size, number> = { full: 100, quick: 5 };
const LIMIT_MS = 100;
const CHUNK = 5_000; // events

/**
 * Measures what others notice of the worst that is allowed: clients that ask for 48 paths of a tree of 100,000 steps without end,
 * and one that opens 600 subscriptions, while health, ingest, lease claims and a small query are asked one after the other.
 */
export async function benchHealthzUnderQueries(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const { builder, runId, leaves } = await recordTree(database, stage.size);
  const service = openLeaseService(platform);
  await fillBatches(database.db, { policyId: 'bench', batches: 1, samples: 16, tokens: 16 });
  await service.registerPolicy({ policyId: 'bench', backend: 'bench', weights: 'a'.repeat(64), kept: null });
  // As the projection of owners folds it: no projector runs here.
  const owner = `insert into owners (stream, topic, principal, project) values ($1, 'training', 'local', 'default')`;
  await database.pool.query(owner, [lineageIdOf('bench')]);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());

  const { key } = await createKey(database.db, { name: 'probe', scopes: ['admin'], projects: 'all' });
  const rounds = 2 * ROUNDS[stage.size];
  const times = <T>(make: (i: number) => T) => Array.from({ length: rounds }, (_, i) => make(i));
  const metric = (i: number) => builder.record('MetricRecorded', { runId, metric: 'probe', value: i, at: i }, runId);
  const probes: readonly Probe[] = [
    { name: 'GET /healthz', method: 'GET', path: '/healthz', bodies: times(() => null) },
    { name: 'POST /v1/events', method: 'POST', path: '/v1/events', bodies: times((i) => JSON.stringify(metric(i))) },
    {
      name: 'lease claim',
      method: 'POST',
      path: '/v1/training/leases',
      bodies: times(() => JSON.stringify({ policyId: 'bench', consumer: 'bench', ttlMs: 600_000 })),
    },
    {
      name: 'small query',
      method: 'POST',
      path: '/graphql',
      bodies: times(() => JSON.stringify({ query: '{ runs(first: 2) { nodes { id name } } }' })),
    },
  ];
  const paths = leaves.map(
    (leaf, i) => `p${i}: path(leaf: "${leaf}") { id depth action observation response rewards { value } }`,
  );
  const loaded = await loadFromOutside({
    url: server.url,
    key,
    probes,
    subscriptions: SUBSCRIPTIONS[stage.size],
    queries: Array.from({ length: ASKING }, () => JSON.stringify({ query: `{ ${paths.join(' ')} }` })),
    subscription: JSON.stringify({ query: 'subscription { events { id data } }' }),
  });
  return {
    bench: 'healthz-under-queries',
    figures: [
      ...['GET /healthz', 'POST /v1/events', 'lease claim'].flatMap((name) => figuresOf(name, loaded, true)),
      ...figuresOf('small query', loaded, false),
    ],
    conditions: {
      query: `${PATHS} paths of ${DEPTH[stage.size]} steps in a tree of ${TREE[stage.size].toLocaleString('en')}`,
      'connections that ask for it': ASKING,
      answered: loaded.queries.answered,
      refused: loaded.queries.refused,
      'its median':
        loaded.queries.milliseconds.length > 0 ? `${median(loaded.queries.milliseconds).toFixed(0)} ms` : 'none ended',
      MB: Math.round(loaded.queries.bytes / 1e6),
      subscriptions: `${loaded.subscriptions.open} open, ${loaded.subscriptions.refused} refused`,
      requests: ROUNDS[stage.size],
      ...stage.conditions(),
    },
  };
}

function figuresOf(name: string, { idle, loaded }: Loaded, bounded: boolean): readonly Figure[] {
  return [0.5, 0.99].map((share) => ({
    name: `${name} under the worst queries, p${share * 100}`,
    value: percentile(loaded[name] ?? [], share),
    unit: 'ms',
    baseline: { name: 'without them', value: percentile(idle[name] ?? [], share), unit: 'ms' },
    goal: bounded && share === 0.99 ? { kind: 'below', limit: LIMIT_MS } : null,
  }));
}

/** Records a tree of many long rollouts, and names the leaves of the longest paths. */
async function recordTree({ db, pool }: StageDatabase, size: Size) {
  const builder = new EventBuilder('healthz');
  const runId = builder.run('healthz');
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
