import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { schemaNameOf } from '../../src/projections/projection.ts';
import { projections } from '../../src/projections/registry.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { copyRows, takeRows } from './copy-rows.ts';
import type { Outcome } from './outcome.ts';
import { median } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { GROUP, meanStepBytes, recordsOf, tellTrajectories } from './trajectories.ts';

const TREES: Record<Size, number> = { full: 600, quick: 4 };
const WARM_UP: Record<Size, number> = { full: 60, quick: 2 };
const PARTITIONS = 8;
const BASELINE_RUNS = 3;
const WAIT_MS = 300_000;

/**
 * Measures Kafka → queryable: records in the topics become rows of every projection, against COPY of those very rows into empty tables of
 * the same shape, which is as fast as Postgres takes them when nothing is read, checked, folded or kept exactly once.
 */
export async function benchProject(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const log = await stage.kafkaLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  await projectAll(database, log, WARM_UP[stage.size], 'warm-up');
  const events = await projectAll(database, log, TREES[stage.size], 'measured');

  const tables = await tablesWithRows(database);
  const rows = await takeRows(database.url, tables);
  const copies: number[] = [];
  for (let run = 0; run < BASELINE_RUNS; run++) copies.push(await copyRows(database.url, rows, `baseline_${run}`));
  const { rows: total } = await database.pool.query<{ n: number }>('select count(*) as n from events');
  const everything = total[0]?.n ?? 0;

  return {
    bench: 'project',
    figures: [
      {
        name: 'Kafka to queryable in all projections',
        value: events.rate,
        unit: 'events/s',
        baseline: { name: 'COPY of the same rows', value: (everything / median(copies)) * 1_000, unit: 'events/s' },
        goal: { kind: 'ratio', least: 0.5 },
      },
    ],
    conditions: {
      events: events.count,
      'bytes per StepTaken': events.stepBytes,
      'batch limit': 1_000,
      partitions: PARTITIONS,
      projections: projections.length,
      baseline: `${rows.length} tables with their indexes, one connection, one transaction, median of ${BASELINE_RUNS}`,
      ...stage.conditions(),
    },
  };
}

/** Appends groups, then projects them from the log; the clock runs from the first batch to the last cursor. */
async function projectAll(
  database: StageDatabase,
  log: EventLog,
  trees: number,
  name: string,
): Promise<{ rate: number; count: number; stepBytes: number }> {
  const events = tellTrajectories({ ...GROUP, trees, name });
  const records = recordsOf(events);
  for (let from = 0; from < records.length; from += 5_000) await log.append(records.slice(from, from + 5_000));
  await database.pool.query('checkpoint');
  const target = await log.ends(TOPICS);
  let began = Number.POSITIVE_INFINITY;
  const projecting = await runProjections({
    log,
    database,
    report: (event) => {
      if (event.kind === 'projected') began = Math.min(began, performance.now() - event.milliseconds);
      else throw new Error(`the projections did not run cleanly: ${JSON.stringify(event)}`);
    },
  });
  await waitUntilProjected(database.db, target, { timeoutMs: WAIT_MS, pollMs: 20 });
  const seconds = (performance.now() - began) / 1_000;
  await projecting.close();
  return { rate: events.length / seconds, count: events.length, stepBytes: meanStepBytes(events) };
}

async function tablesWithRows(database: StageDatabase): Promise<readonly string[]> {
  const schemas = projections.map(schemaNameOf);
  const { rows } = await database.pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname = any($1) order by 1`,
    [schemas],
  );
  return rows.map(({ name }) => name);
}
