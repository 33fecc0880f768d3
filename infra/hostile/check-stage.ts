import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { projections } from '../../src/projections/registry.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { until } from '../../src/testing/until.ts';
import { replayProjections } from '../../src/usecases/replay/replay-projections.ts';

export interface StageReport {
  /** In the log. */
  readonly records: number;
  /** What was compared and what was set aside, as one line. */
  readonly summary: string;
  /** What does not hold; none when all does. */
  readonly faults: readonly string[];
}

/** Waits for the projections, folds all of the log again, and compares. */
export async function checkStage(platform: Platform): Promise<StageReport> {
  const { database, log } = platform;
  const rows = async (statement: string) => (await database.pool.query<{ what: string; count: number }>(statement)).rows;
  const count = async (statement: string) => (await rows(`select '' as what, (${statement})::int as count`))[0]?.count ?? 0;
  await until(async () => (await count('select count(*) from outbox where relayed_at is null')) === 0);
  const ends = await log.ends(TOPICS);
  await waitUntilProjected(database.db, ends, { timeoutMs: 120_000 });
  const records = [...ends.values()].flatMap((partitions) => [...partitions.values()]).reduce((sum, end) => sum + end, 0);
  const journalled =
    await count(`(select count(*) from events) + (select count(*) from anomalies a where kind = 'duplicate' and not exists (
      select from events e where (e.topic, e.partition, e."offset") = (a.topic, a.partition, a."offset")))
    + (select count(*) from quarantine_releases r join events e using (event_id)
       where (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset"))
    + (select count(*) from quarantine where projection = 'journal')`);
  const unexplained = await count(`select count(*) from quarantine where coalesce(reason, '') = '' or coalesce(code, '') = ''`);
  const quarantined = await rows(
    "select concat_ws(' ', projection, code) as what, count(*)::int as count from quarantine group by 1 order by 1",
  );
  const anomalies = await rows('select kind as what, count(*)::int as count from anomalies group by 1 order by 1');
  const { report, comparisons } = await replayProjections(platform, projections, {
    signal: AbortSignal.timeout(300_000),
    limitMs: 120_000,
    progress: () => undefined,
  });
  const tables = comparisons.flatMap((comparison) => comparison.tables).length;
  return {
    records,
    summary: `${tables} tables equal their fold; quarantined: ${listed(quarantined)}; anomalies: ${listed(anomalies)}`,
    faults: [
      ...(journalled === records ? [] : [`${records} records are in the log, ${journalled} in journal and quarantine`]),
      ...(unexplained === 0 ? [] : [`${unexplained} events are in quarantine without a reason`]),
      ...(report.outcome === 'equal'
        ? []
        : [`read models differ from their fold: ${JSON.stringify(report.differences.slice(0, 3))}`]),
    ],
  };
}

function listed(counts: readonly { readonly what: string; readonly count: number }[]): string {
  return counts.map(({ what, count }) => `${what} × ${count}`).join(', ') || 'none';
}
