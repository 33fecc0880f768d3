import { availableParallelism } from 'node:os';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { connect } from '../../src/postgres/pool.ts';
import { schemaNameOf } from '../../src/projections/projection.ts';
import type { FoldSource } from '../../src/projections/rebuild/fold-thread.ts';
import { projections } from '../../src/projections/registry.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { stepTree } from '../../src/projections/step-tree/step-tree.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { rebuildProjection } from '../../src/usecases/rebuild/rebuild-projection.ts';
import { type BenchResult, type Figure, median, timed } from './bench-result.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { EVENTS_PER_GROUP, GROUP, meanStepBytes, recordsOf, recordTrajectories } from './trajectories.ts';

const TREES: Record<Size, number> = { full: 400, quick: 4 };
const ROUNDS: Record<Size, number> = { full: 5, quick: 1 };
const PARTITIONS = 8;
const REBUILT: Record<Size, number> = { full: 2_000_000, quick: 500 }; // events
const APPENDED = 5_000; // records at once
const WAIT_MS = 1_800_000;

/**
 * Measures Kafka → queryable: records in the topics become rows of every projection, against COPY of those very rows into empty
 * tables of the same shape, which is as fast as Postgres takes them when nothing is read, checked, folded or kept exactly once. Then a rebuild of the largest
 * projection.
 */
export async function benchProject(stage: Stage): Promise<BenchResult> {
  const database = await stage.database();
  const log = await stage.kafkaLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  const rates: number[] = [];
  const copied: number[] = [];
  let round = await projectAll(database, log, TREES[stage.size], 'warm-up');
  for (let i = 0; i < ROUNDS[stage.size]; i++) {
    await emptyTables(database); // each round writes into empty tables, as the baseline does
    round = await projectAll(database, log, TREES[stage.size], `round ${i}`);
    rates.push(round.rate);
    const rows = await takeRows(database.url, await tablesOf(database));
    copied.push((round.count / (await copyRows(database.url, rows, `baseline_${i}`))) * 1_000);
  }

  return {
    bench: 'project',
    figures: [
      {
        name: 'Kafka to queryable in all projections',
        value: median(rates),
        unit: 'events/s',
        baseline: { name: 'COPY of the same rows', value: median(copied), unit: 'events/s' },
        floor: { kind: 'ratio-at-least', limit: 0.45 },
      },
      await measureRebuild(stage.another()),
    ],
    conditions: {
      events: round.count,
      rounds: `${ROUNDS[stage.size]}, the median`,
      'bytes per StepTaken': round.stepBytes,
      partitions: PARTITIONS,
      projections: projections.length,
      baseline: 'the same tables with their indexes, one connection, one transaction',
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
  const events = recordTrajectories({ ...GROUP, trees, name });
  const records = recordsOf(events);
  for (let from = 0; from < records.length; from += APPENDED) await log.append(records.slice(from, from + APPENDED));
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

async function tablesOf(database: StageDatabase): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname = any($1) order by 1`,
    [projections.map(schemaNameOf)],
  );
  return rows.map(({ name }) => name);
}

/** Empties the tables of the projections. Their cursors stay: the log continues. */
async function emptyTables(database: StageDatabase): Promise<void> {
  await database.pool.query(`truncate ${(await tablesOf(database)).join(', ')}`);
}

/**
 * Measures `espalier rebuild step-tree`: the log folded again while the live version stays, until the tables are compared and the
 * views swapped; scaled to ten million events. The baseline folded the same events live.
 */
async function measureRebuild(stage: Stage): Promise<Figure> {
  const database = await stage.database();
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  let events = 0;
  while (events < REBUILT[stage.size]) {
    const trees = Math.min(500, Math.ceil((REBUILT[stage.size] - events) / EVENTS_PER_GROUP)); // not all of them fit into memory
    const records = recordsOf(recordTrajectories({ ...GROUP, trees, name: `rebuild ${events}` }));
    for (let from = 0; from < records.length; from += APPENDED) await log.append(records.slice(from, from + APPENDED));
    events += records.length;
  }
  const live = await timed(async () => {
    const projecting = await runProjections({ log, database, projections: [stepTree] });
    await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS, projections: [stepTree] });
    await projecting.close();
  });
  await database.pool.query('checkpoint');
  const { url: databaseUrl } = database;
  const threads: FoldSource = {
    databaseUrl,
    log: { kind: 'embedded', url: databaseUrl, directUrl: databaseUrl },
    masterKeyFile: null,
    threads: Math.min(4, availableParallelism()),
  };
  const options = {
    signal: new AbortController().signal,
    limitMs: WAIT_MS,
    progress: () => undefined,
    differing: 'refuse',
  } as const;
  const rebuilt = await timed(async () => {
    const result = await rebuildProjection({ database, log, threads }, stepTree, options);
    if (result.kind !== 'swapped' || result.comparison?.differences.length !== 0)
      throw new Error(`step-tree did not fold into the same rows: ${JSON.stringify(result)}`);
  });
  const minutes = (seconds: number) => ((seconds / events) * 1e7) / 60;
  return {
    name: `rebuild of step-tree, 10 million events, as ${events.toLocaleString('en')} in ${rebuilt.toFixed(1)} s`,
    value: minutes(rebuilt),
    unit: 'min',
    baseline: { name: 'the same events folded live', value: minutes(live), unit: 'min' },
    floor: { kind: 'below', limit: 12 },
  };
}

/** The rows of one table as COPY text. */
interface CopiedTable {
  readonly table: string;
  readonly chunks: readonly Buffer[];
}

/** Takes the rows of tables out of the database, so that the baseline writes the very rows that the projections wrote. */
async function takeRows(url: string, tables: readonly string[]): Promise<readonly CopiedTable[]> {
  const client = await connect(url, 'bench copy');
  try {
    const taken: CopiedTable[] = [];
    for (const table of tables) {
      const chunks: Buffer[] = [];
      const stream = client.query(copyTo(`copy ${table} to stdout`));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      await finished(stream);
      if (chunks.length > 0) taken.push({ table, chunks });
    }
    return taken;
  } finally {
    await client.end();
  }
}

/**
 * Writes the rows by COPY into fresh tables of the same shape, indexes and constraints included: one connection, table after
 * table, one transaction. Returns the milliseconds it took, commit included.
 */
async function copyRows(url: string, tables: readonly CopiedTable[], schema: string): Promise<number> {
  const client = await connect(url, 'bench copy');
  try {
    await client.query(`create schema ${schema}`);
    for (const [i, { table }] of tables.entries())
      await client.query(`create table ${schema}.t${i} (like ${table} including all)`);
    await client.query('checkpoint');
    const began = performance.now();
    await client.query('begin');
    for (const [i, { chunks }] of tables.entries()) await copyInto(client, `${schema}.t${i}`, chunks);
    await client.query('commit');
    const took = performance.now() - began;
    await client.query(`drop schema ${schema} cascade`);
    return took;
  } finally {
    await client.end();
  }
}

async function copyInto(client: pg.Client, table: string, chunks: readonly Buffer[]): Promise<void> {
  const stream = client.query(copyFrom(`copy ${table} from stdin`));
  for (const chunk of chunks) if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
  stream.end();
  await finished(stream);
}
