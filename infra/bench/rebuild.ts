import { availableParallelism } from 'node:os';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Offsets } from '../../src/log/event-log.ts';
import { type Projection, schemaNameOf } from '../../src/projections/projection.ts';
import type { FoldSource } from '../../src/projections/rebuild/fold-thread.ts';
import type { BuildProgress } from '../../src/projections/rebuild/watch-build.ts';
import { projections } from '../../src/projections/registry.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { rebuildProjection, retireVersions } from '../../src/usecases/rebuild/rebuild-projection.ts';
import { copyRows, takeRows } from './copy-rows.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { EVENTS_PER_GROUP, GROUP, meanStepBytes, recordsOf, recordTrajectories } from './trajectories.ts';

const EVENTS: Record<Size, number> = { full: 1_000_000, quick: 500 };
const PARTITIONS = 8;
const APPENDED = 5_000; // records at once
const WAIT_MS = 3_600_000;
const LIMIT_MIN = 5; // of ten million events
const BASELINE_MOST = 2_000_000; // events: the rows that COPY writes again are held in memory

/**
 * Measures `espalier rebuild` of each projection: the log folded again next to the live version, until its tables are compared
 * and the views swapped; of those that are loaded, against COPY of the very rows into empty tables of the same shape. What is
 * live was folded as events come in, so that a rebuild is also shown to be equal to that. `ESPALIER_BENCH_EVENTS` sets another
 * number of events, such as the ten million of the goal (an hour, 60 GB, most of it for what is live), `ESPALIER_BENCH_ONLY` is a
 * regular expression for the names of the projections, `ESPALIER_BENCH_KEEP` a folder whose database a later run finds filled.
 */
export async function benchRebuild(stage: Stage): Promise<Outcome> {
  const only = new RegExp(process.env.ESPALIER_BENCH_ONLY ?? '');
  const chosen = projections.filter(({ name }) => only.test(name));
  const database = await stage.database();
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  const wanted = Number(process.env.ESPALIER_BENCH_EVENTS ?? EVENTS[stage.size]);
  let events = countOf(await log.ends(TOPICS));
  const stepBytes = meanStepBytes(recordTrajectories({ ...GROUP, trees: 100, name: 'rebuild' }));
  while (events < wanted) {
    // a part at a time: a million events do not fit at once; a kept log holds the first ones
    const trees = Math.min(500, Math.ceil((wanted - events) / EVENTS_PER_GROUP));
    const records = recordsOf(recordTrajectories({ ...GROUP, trees, name: `rebuild ${events}` }));
    for (let from = 0; from < records.length; from += APPENDED) await log.append(records.slice(from, from + APPENDED));
    events += records.length;
  }
  const projecting = await runProjections({ log, database, projections: chosen });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS, projections: chosen });
  await projecting.close();

  const figures: Figure[] = [];
  for (const projection of chosen) figures.push(await rebuildOnce(stage, database, log, projection, events));
  return {
    bench: 'rebuild',
    figures,
    conditions: { events, 'bytes per StepTaken': stepBytes, partitions: PARTITIONS, log: 'embedded', ...stage.conditions() },
  };
}

function countOf(ends: Offsets): number {
  return [...ends.values()].flatMap((partitions) => [...partitions.values()]).reduce((sum, end) => sum + end, 0);
}

async function rebuildOnce(
  stage: Stage,
  database: StageDatabase,
  log: Awaited<ReturnType<Stage['embeddedLog']>>,
  projection: Projection,
  events: number,
): Promise<Figure> {
  await database.pool.query('checkpoint');
  const began = performance.now();
  const phases = new Map<BuildProgress['phase'], number>();
  const options = {
    signal: new AbortController().signal,
    limitMs: WAIT_MS,
    progress: ({ phase }: BuildProgress) => void phases.set(phase, performance.now() - began),
  };
  const { url: databaseUrl } = database;
  const threads: FoldSource = {
    databaseUrl,
    log: { kind: 'embedded', url: databaseUrl, directUrl: databaseUrl },
    masterKeyFile: null,
    threads: Math.min(4, availableParallelism()),
  };
  const rebuilt = await rebuildProjection({ database, log, threads }, projection, { ...options, differing: 'refuse' });
  const took = performance.now() - began;
  const { name } = projection;
  if (rebuilt.kind !== 'swapped' || rebuilt.comparison?.differences.length !== 0)
    throw new Error(`${name} did not fold into the same rows: ${JSON.stringify(rebuilt)}`);
  const copied =
    projection.load && events <= BASELINE_MOST ? await copyAgain(database, { ...projection, version: rebuilt.to }) : null;
  await retireVersions({ database, log }, projection); // room for the next
  const minutes = (ms: number) => ((ms / events) * 1e7) / 60_000;
  const rate = (ms: number) => `${Math.round((events / ms) * 1_000).toLocaleString('en')}/s`;
  const folded = phases.get('loading') ?? phases.get('folding') ?? 0;
  return {
    name: `${name}, 10 million events, as ${events.toLocaleString('en')} in ${(took / 1_000).toFixed(1)} s (${rate(took)}, folded at ${rate(folded)})`,
    value: minutes(took),
    unit: 'min',
    baseline: copied === null ? null : { name: 'COPY of the same rows', value: minutes(copied), unit: 'min' },
    goal: stage.size === 'quick' ? null : { kind: 'below', limit: LIMIT_MIN },
  };
}

/** Writes the rows of a version again by COPY into empty tables; returns the milliseconds. */
async function copyAgain({ pool, url }: StageDatabase, projection: Projection): Promise<number> {
  const { rows } = await pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname = $1 order by 1`,
    [schemaNameOf(projection)],
  );
  const tables = rows.map(({ name }) => name);
  return copyRows(url, await takeRows(url, tables), `baseline_${projection.name.replaceAll('-', '_')}`);
}
