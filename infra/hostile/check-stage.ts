import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../src/events/catalogue.ts';
import { projections } from '../../src/projections/registry.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { replayProjections } from '../../src/usecases/replay/replay-projections.ts';
import { countOf, type Stage } from './stage.ts';

/** What must hold of the record behind all cases. */
export interface StageState {
  readonly records: number;
  readonly journalled: number;
  /** Events that a projection set aside, by its reason. */
  readonly quarantined: Readonly<Record<string, number>>;
  readonly anomalies: Readonly<Record<string, number>>;
  readonly tables: number;
  /** What does not hold; none when all does. */
  readonly broken: readonly string[];
}

/** Waits for the projections, folds all of the log again, and compares. */
export async function checkStage({ platform }: Pick<Stage, 'platform'>): Promise<StageState> {
  const { database, log } = platform;
  await untilRelayed(platform);
  const ends = await log.ends(TOPICS);
  await waitUntilProjected(database.db, ends, { timeoutMs: 120_000 });
  const all = countOf(ends);
  const count = async (statement: string) => (await database.pool.query<{ what: string; count: number }>(statement)).rows;
  const [kept] =
    await count(`select '' as what, ((select count(*) from events) + (select count(*) from anomalies where kind = 'duplicate')
    + (select count(*) from quarantine_releases r join events e using (event_id)
       where (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset"))
    + (select count(*) from quarantine where projection = 'journal'))::int as count`);
  const quarantine = await count(
    "select concat_ws(' ', projection, code) as what, count(*)::int as count from quarantine group by 1 order by 1",
  );
  const unexplained = await count(
    "select '' as what, count(*)::int as count from quarantine where coalesce(reason, '') = '' or coalesce(code, '') = ''",
  );
  const anomalies = await count('select kind as what, count(*)::int as count from anomalies group by 1 order by 1');
  const { report, comparisons } = await replayProjections(platform, projections, {
    signal: AbortSignal.timeout(300_000),
    limitMs: 120_000,
    progress: () => undefined,
  });
  const journalled = kept?.count ?? 0;
  const without = unexplained[0]?.count ?? 0;
  return {
    records: all,
    journalled,
    quarantined: tally(quarantine),
    anomalies: tally(anomalies),
    tables: comparisons.flatMap(({ tables }) => tables).length,
    broken: [
      ...(journalled === all ? [] : [`${all} records in the log, ${journalled} in journal and quarantine`]),
      ...(without === 0 ? [] : [`${without} events are in quarantine without a reason`]),
      ...(report.outcome === 'equal'
        ? []
        : [`read models differ from their fold: ${JSON.stringify(report.differences.slice(0, 3))}`]),
    ],
  };
}

const RELAYED_MS = 30_000;

/** Waits until all that the lease service decided is in the log. */
async function untilRelayed({ database }: Stage['platform']): Promise<void> {
  const deadline = performance.now() + RELAYED_MS;
  for (;;) {
    const { rows } = await database.pool.query<{ waiting: number }>(
      'select count(*)::int as waiting from outbox where relayed_at is null',
    );
    if (rows[0]?.waiting === 0) return;
    if (performance.now() > deadline)
      throw new Error(`${rows[0]?.waiting} events of the service were not relayed within ${RELAYED_MS} ms`);
    await delay(50);
  }
}

function tally(rows: readonly { readonly what: string; readonly count: number }[]): Readonly<Record<string, number>> {
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
}
