import type { Db } from '../postgres/database.ts';
import { countAnomaliesByKind } from '../projections/journal/read-anomalies.ts';
import { buildOf, codeVersionOf } from '../projections/projection.ts';
import { readProjectionStatuses } from '../projections/projection-statuses.ts';
import { countWaiting } from '../projections/read-waiting.ts';
import { readBuilds } from '../projections/rebuild/read-builds.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { type HealthWorld, lagByProjection, topicsRead } from './health.ts';

/**
 * Adds the gauges that are read from the database and the log at each scrape: lag, stopped projections, quarantine, anomalies.
 */
export function addGauges(metrics: Metrics, { db, log, projections }: HealthWorld): void {
  metrics.gauge('projection_lag_records', 'Records that a projection has still to read', ['projection'], async () => {
    const [statuses, ends] = await Promise.all([readProjectionStatuses(db), log.ends(topicsRead(projections))]);
    const lags = Object.entries(lagByProjection(projections, statuses, ends));
    return lags.map(([projection, value]) => ({ labels: { projection }, value }));
  });
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
  metrics.gauge('anomalies', 'Duplicates, gaps and reorderings that the journal has seen', ['kind'], async () => {
    const seen = await countAnomaliesByKind(db);
    return (['duplicate', 'gap', 'reordered', 'superseded'] as const).map((kind) => ({
      labels: { kind },
      value: seen.get(kind) ?? 0,
    }));
  });
}

/** The builds that have reported how far they are. */
async function buildsUnderWay(db: Db) {
  return (await readBuilds(db)).flatMap(({ projection, version, build, progress }) =>
    progress === null ? [] : [{ labels: { projection, version: String(version), build: String(build) }, ...progress }],
  );
}
