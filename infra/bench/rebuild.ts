import { availableParallelism } from 'node:os';
import { TOPICS } from '../../src/events/catalogue.ts';
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
const NAMES = ['step-tree', 'rewards', 'journal'];
const PARTITIONS = 8;
const APPENDED = 5_000; // records at once
const WAIT_MS = 3_600_000;
const LIMIT_MS = 300_000; // of ten million events
const BASELINE_MOST = 2_000_000; // events: the rows that COPY writes again are held in memory

/**
 * Measures `espalier rebuild`: the log folded again next to the live version, until its tables are compared and the views
 * swapped; against COPY of the very rows into empty tables of the same shape. What is live was folded as events come in, so that
 * a rebuild is also shown to be equal to that. `ESPALIER_BENCH_EVENTS` sets another number of events, such as the ten million of
 * the goal (an hour, 60 GB, most of it for what is live).
 */
export async function benchRebuild(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  const wanted = Number(process.env.ESPALIER_BENCH_EVENTS ?? EVENTS[stage.size]);
  let events = 0;
  let stepBytes = 0;
  for (let part = 0; events < wanted; part++) {
    // a part at a time: a million events do not fit at once
    const trees = Math.min(500, Math.ceil((wanted - events) / EVENTS_PER_GROUP));
    const recorded = recordTrajectories({ ...GROUP, trees, name: `rebuild ${part}` });
    const records = recordsOf(recorded);
    for (let from = 0; from < records.length; from += APPENDED) await log.append(records.slice(from, from + APPENDED));
    events += recorded.length;
    stepBytes = meanStepBytes(recorded);
  }
  const chosen = projections.filter(({ name }) => NAMES.includes(name));
  const projecting = await runProjections({ log, database, projections: chosen });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS, projections: chosen });
  await projecting.close();

  const figures: Figure[] = [];
  for (const projection of chosen) figures.push(...(await rebuildOnce(stage, database, log, projection)));
  return {
    bench: 'rebuild',
    figures,
    conditions: { events, 'bytes per StepTaken': stepBytes, partitions: PARTITIONS, log: 'embedded', ...stage.conditions() },
  };
}

async function rebuildOnce(
  stage: Stage,
  database: StageDatabase,
  log: Awaited<ReturnType<Stage['embeddedLog']>>,
  projection: Projection,
): Promise<Figure[]> {
  await database.pool.query('checkpoint');
  const began = performance.now();
  const phases = new Map<BuildProgress['phase'], { readonly at: number; readonly done: number }>();
  const options = {
    signal: new AbortController().signal,
    limitMs: WAIT_MS,
    progress: ({ phase, done }: BuildProgress) => void phases.set(phase, { at: performance.now(), done }),
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
  if (rebuilt.kind !== 'swapped' || rebuilt.comparison?.differences.length !== 0)
    throw new Error(`${projection.name} did not fold into the same rows: ${JSON.stringify(rebuilt)}`);
  const records = Math.max(...[...phases.values()].map(({ done }) => done));
  const folded = phases.get('loading') ?? phases.get('folding');
  const copied = records <= BASELINE_MOST ? await copyAgain(database, { ...projection, version: rebuilt.to }) : null;
  await retireVersions({ database, log }, projection); // room for the next
  const per = (ms: number) => (records / ms) * 1_000;
  const baseline = copied === null ? null : ({ name: 'COPY of the same rows', value: per(copied), unit: 'events/s' } as const);
  const { name } = projection;
  const figures: Figure[] = [
    { name: `${name} folded again`, value: per((folded?.at ?? 0) - began), unit: 'events/s', baseline, goal: null },
    { name: `${name} rebuilt, indexed, compared and swapped`, value: per(took), unit: 'events/s', baseline, goal: null },
  ];
  if (stage.size === 'quick') return figures;
  const asMany = `${records.toLocaleString('en')} records of ${name}`;
  figures.push({ name: `${asMany} rebuilt (measured)`, value: took, unit: 'ms', baseline: null, goal: null });
  const ten = { value: 1e10 / per(took), unit: 'ms', baseline: null } as const;
  const goal = { kind: 'below', limit: LIMIT_MS } as const;
  figures.push({ name: `${name}: 10 million at that rate (extrapolated)`, ...ten, goal });
  return figures;
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
