import type { CacheCounters } from '../images/segment-cache.ts';
import type { Db } from '../postgres/database.ts';
import { readSizes } from '../postgres/read-sizes.ts';
import { countAnomaliesByKind } from '../projections/journal/read-anomalies.ts';
import { buildOf, codeVersionOf } from '../projections/projection.ts';
import { readProjectionStatuses } from '../projections/projection-statuses.ts';
import { countWaiting, countWaitingByProject } from '../projections/read-waiting.ts';
import { readBuilds } from '../projections/rebuild/read-builds.ts';
import { countLeases, readOldestBatches } from '../projections/training-pool/read-lease-counts.ts';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { readLineages } from '../projections/training-pool/read-lineages.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { readSeldom } from '../runtime/read-seldom.ts';
import { readWaitingOutbox } from '../training/outbox/read-outbox.ts';
import { isPlannable } from '../usecases/train/batcher/plan-lineage.ts';
import { type HealthWorld, lagByProjection, topicsRead } from './health.ts';
import { watchLag } from './lag-watch.ts';

const LAG_MS = 500; // whoever can connect to the probe port may ask: seldom is enough

/** Adds how far the read models are behind the log, by which an orchestrator adds projectors. */
export function addLagGauges(metrics: Metrics, { db, log, projections }: HealthWorld): void {
  const read = readSeldom(LAG_MS, () => Promise.all([readProjectionStatuses(db), log.ends(topicsRead(projections))]));
  metrics.openGauge('projection_lag_records', 'Records that a projection has still to read', ['projection'], async () =>
    Object.entries(lagByProjection(projections, ...(await read()))).map(([projection, value]) => ({
      labels: { projection },
      value,
    })),
  );
  const lagSeconds = watchLag();
  metrics.openGauge(
    'projection_lag_seconds',
    'Time since the log holds what a projection has not folded',
    ['projection'],
    async () => [...lagSeconds(projections, ...(await read()))].map(([projection, value]) => ({ labels: { projection }, value })),
  );
}

/**
 * Adds the gauges that are read from the database and the log at each scrape: lag, stopped projections, quarantine, anomalies.
 */
export function addGauges(metrics: Metrics, world: HealthWorld): void {
  const { db, log, projections } = world;
  addLagGauges(metrics, world);
  metrics.gauge('projection_stopped', 'Whether a projection is stopped (1) or runs (0)', ['projection'], async () =>
    (await readProjectionStatuses(db)).map(({ name, state }) => ({
      labels: { projection: name },
      value: state === 'stopped' ? 1 : 0,
    })),
  );
  metrics.gauge('projection_version', 'Version of the code that folded the live tables', ['projection'], async () =>
    (await readProjectionStatuses(db)).map(({ name, version }) => ({
      labels: { projection: name },
      value: codeVersionOf(version),
    })),
  );
  metrics.gauge('projection_build', 'Which fold by that code is live, from 1', ['projection'], async () =>
    (await readProjectionStatuses(db)).map(({ name, version }) => ({ labels: { projection: name }, value: buildOf(version) })),
  );
  metrics.gauge('build_records_left', 'Records that a build has still to fold', ['projection', 'version', 'build'], async () =>
    (await buildsUnderWay(db)).map(({ labels, done, of }) => ({ labels, value: of - done })),
  );
  metrics.gauge('build_records_per_second', 'How fast a build is folded', ['projection', 'version', 'build'], async () =>
    (await buildsUnderWay(db)).map(({ labels, rate }) => ({ labels, value: rate })),
  );
  metrics.gauge('log_end_records', 'Records that the log has taken, by topic', ['topic'], async () =>
    [...(await log.ends(topicsRead(projections)))].map(([topic, partitions]) => ({
      labels: { topic },
      value: [...partitions.values()].reduce((sum, end) => sum + end, 0),
    })),
  );
  metrics.gauge('quarantine_open', 'Events that wait in quarantine', ['projection'], async () =>
    [...(await countWaiting(db))].map(([projection, value]) => ({ labels: { projection }, value })),
  );
  metrics.gauge('quarantine_open_by_project', 'Records that wait in quarantine, by project', ['project'], async () =>
    [...(await countWaitingByProject(db))].map(([project, value]) => ({ labels: { project }, value })),
  );
  metrics.gauge('outbox_waiting_records', 'Records decided in Postgres that wait to be appended to the log', [], async () => [
    { labels: {}, value: (await readWaitingOutbox(db)).records },
  ]);
  metrics.gauge('outbox_oldest_seconds', 'How long the oldest of them has waited', [], async () => [
    { labels: {}, value: (await readWaitingOutbox(db)).seconds },
  ]);
  metrics.gauge('postgres_bytes', 'Bytes on the disk of Postgres: of the database, and of the log in it', ['of'], async () =>
    Object.entries(await readSizes(db)).map(([of, value]) => ({ labels: { of }, value })),
  );
  metrics.gauge('anomalies', 'Duplicates, gaps and reorderings that the journal has seen', ['kind'], async () => {
    const anomalies = await countAnomaliesByKind(db);
    return (['duplicate', 'gap', 'reordered', 'superseded'] as const).map((kind) => ({
      labels: { kind },
      value: anomalies.get(kind) ?? 0,
    }));
  });
}

/** The builds that have reported how far they are. */
async function buildsUnderWay(db: Db) {
  return (await readBuilds(db)).flatMap(({ projection, version, build, progress }) =>
    progress === null ? [] : [{ labels: { projection, version: String(version), build: String(build) }, ...progress }],
  );
}

/** Adds what is known of training at each scrape: the ledger of every policy, its difference, its newest version, its batches. */
export function addTrainingGauges(metrics: Metrics, db: Db): void {
  metrics.gauge(
    'training_samples',
    'Finished rollouts that may train a policy, by what became of them',
    ['policy', 'state'],
    async () =>
      (await readLedgers(db, 'all')).flatMap(({ policyId: policy, trained, rejected, abandoned, owed, running }) => {
        const refused = Object.entries(rejected).map(([reason, value]) => [`rejected:${reason}`, value] as const);
        const waiting = Object.entries(owed).map(([state, value]) => [`owed:${state}`, value] as const);
        const known = Object.entries({ trained, abandoned, running });
        return [...known, ...refused, ...waiting].map(([state, value]) => ({ labels: { policy, state }, value }));
      }),
  );
  metrics.gauge('training_ledger_difference', 'Samples produced and not accounted for; always 0', ['policy'], async () =>
    (await readLedgers(db, 'all')).map(({ policyId, difference }) => ({ labels: { policy: policyId }, value: difference })),
  );
  metrics.gauge('training_policy_version', 'The newest version of a policy', ['policy'], async () =>
    (await readLineages(db, 'all')).flatMap(({ policyId, newestVersion }) =>
      newestVersion === null ? [] : [{ labels: { policy: policyId }, value: newestVersion }],
    ),
  );
  metrics.gauge('training_batches', 'Batches of a policy', ['policy', 'state'], async () =>
    (await readLineages(db, 'all')).flatMap(({ policyId: policy, planned, trained, abandoned }) => [
      { labels: { policy, state: 'trained' }, value: trained },
      { labels: { policy, state: 'waiting' }, value: planned - trained - abandoned },
      { labels: { policy, state: 'abandoned' }, value: abandoned },
    ]),
  );
  metrics.gauge('training_leases', 'Leases of a policy, by how they ended', ['policy', 'state'], async () =>
    (await countLeases(db)).map(({ policyId: policy, state, leases }) => ({ labels: { policy, state }, value: leases })),
  );
  metrics.gauge('training_oldest_batch_seconds', 'How long the oldest batch has waited for its version', ['policy'], async () =>
    (await readOldestBatches(db)).map(({ policyId: policy, seconds }) => ({ labels: { policy }, value: seconds })),
  );
  const readPlannable = readSeldom(PLANNABLE_MS, () => plannableByPolicy(db));
  metrics.gauge('training_plannable', 'Whether a planner has something to do (1) or not (0)', ['policy'], async () =>
    (await readPlannable()).map(({ policy, plannable }) => ({ labels: { policy }, value: plannable ? 1 : 0 })),
  );
}

const PLANNABLE_MS = 30_000;

/** Plans every policy, one at a time: all at once would take the connections of requests. */
async function plannableByPolicy(db: Db): Promise<readonly { readonly policy: string; readonly plannable: boolean }[]> {
  const policies: { policy: string; plannable: boolean }[] = [];
  for (const lineage of await readLineages(db, 'all')) {
    const plannable = await isPlannable(db, lineage).catch(() => true); // it waits for a correction
    policies.push({ policy: lineage.policyId, plannable });
  }
  return policies;
}

/** Adds what a segment cache did and holds to the measurements of its process; they are read at each scrape. */
export function addSegmentCacheGauges(metrics: Metrics, cache: { readonly counters: CacheCounters }): void {
  metrics.gauge('segment_cache_lookups', 'Segments asked of the cache since the start of the process', ['outcome'], async () => {
    const { hits, storeHits, misses } = cache.counters;
    return Object.entries({ hit: hits, store: storeHits, miss: misses }).map(([outcome, value]) => ({
      labels: { outcome },
      value,
    }));
  });
  const single = (name: string, help: string, of: keyof CacheCounters) =>
    metrics.gauge(name, help, [], async () => [{ labels: {}, value: cache.counters[of] }]);
  single('segment_cache_evictions', 'Segments that the cache dropped since the start of the process', 'evictions');
  single('segment_cache_damaged', 'Stored segments whose bytes were not those that were written', 'damaged');
  single('segment_cache_segments', 'Segments that the cache holds', 'segments');
  single('segment_cache_bytes', 'Bytes that the cache holds', 'bytes');
}
