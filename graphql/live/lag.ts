import type { Offsets } from '../../src/log/event-log.ts';
import { buildOf, codeVersionOf } from '../../src/projections/projection.ts';
import { readProjectionStatuses } from '../../src/projections/projection-statuses.ts';
import { type BuildStatus, readBuilds } from '../../src/projections/rebuild/read-builds.ts';
import type { Sources } from '../context.ts';
import type { ProjectionLag } from '../generated/types.ts';
import { logEnd, restrictToProjection } from './log-end.ts';

/**
 * Measures how far each projection is behind the log. Cursors are read before the ends, so a lag is never below zero for a race.
 */
export async function measureLag(sources: Sources): Promise<ProjectionLag[]> {
  const [statuses, builds] = [await readProjectionStatuses(sources.db), await readBuilds(sources.db)];
  const end = await logEnd(sources);
  return statuses.flatMap(({ name, version, state, reason, cursors }) => {
    const projection = sources.projections.find((p) => p.name === name);
    if (!projection) return [];
    const partitions = behind(cursors, restrictToProjection(end, projection));
    const lag = partitions.reduce((sum, { lag }) => sum + lag, 0);
    const shadows = builds.filter((build) => build.projection === name).map(reportBuild);
    const status = { projection: name, version: codeVersionOf(version), build: buildOf(version), state, reason };
    return [{ ...status, partitions, lag, builds: shadows }];
  });
}

function reportBuild({ version, build, state, begunAt, progress }: BuildStatus): ProjectionLag['builds'][number] {
  const none = { done: null, of: null, rate: null, secondsLeft: null, toldAt: null };
  return { version, build, state, begunAt, ...(progress ?? none) };
}

function behind(cursors: Offsets, ends: Offsets): ProjectionLag['partitions'][number][] {
  const lags = [];
  for (const [topic, partitions] of ends) {
    for (const [partition, end] of partitions) {
      const cursor = cursors.get(topic)?.get(partition) ?? 0;
      lags.push({ topic, partition, cursor, end, lag: Math.max(0, end - cursor) });
    }
  }
  return lags.sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1));
}
