import { TOPICS } from '../../src/events/catalogue.ts';
import { rebuildProjection } from '../../src/platform/rebuild-projection.ts';
import { type Projection, schemaNameOf } from '../../src/projections/projection.ts';
import { projections } from '../../src/projections/registry.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { copyRows, takeRows } from './copy-rows.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { EVENTS_PER_GROUP, GROUP, meanStepBytes, recordsOf, tellTrajectories } from './trajectories.ts';

const EVENTS: Record<Size, number> = { full: 100_000, quick: 500 };
const NAMES = ['step-tree', 'rewards', 'journal'];
const PARTITIONS = 8;
const APPENDED = 5_000; // records at once
const WAIT_MS = 600_000;

/**
 * Measures `espalier rebuild`: the log folded anew beside the live version, until its tables are compared and the views swapped; against COPY of the
 * very rows into empty tables of the same shape. `ESPALIER_BENCH_EVENTS` tells another number of events.
 */
export async function benchRebuild(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  const wanted = Number(process.env.ESPALIER_BENCH_EVENTS ?? EVENTS[stage.size]);
  let events = 0;
  let stepBytes = 0;
  for (let part = 0; events < wanted; part++) {
    const trees = Math.min(500, Math.ceil((wanted - events) / EVENTS_PER_GROUP)); // a part at a time: a million events do not fit at once
    const told = tellTrajectories({ ...GROUP, trees, name: `rebuild ${part}` });
    const records = recordsOf(told);
    for (let from = 0; from < records.length; from += APPENDED) await log.append(records.slice(from, from + APPENDED));
    events += told.length;
    stepBytes = meanStepBytes(told);
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
  let folded = { at: began, records: 0 };
  const rebuilt = await rebuildProjection({ database, log }, projection, {
    ...{ signal: new AbortController().signal, limitMs: WAIT_MS, differing: 'refuse' },
    progress: ({ done }) => {
      if (done > folded.records) folded = { at: performance.now(), records: done };
    },
  });
  const ended = performance.now();
  if (rebuilt.kind !== 'swapped' || rebuilt.comparison?.differences.length !== 0)
    throw new Error(`${projection.name} did not fold into the same rows: ${JSON.stringify(rebuilt)}`);
  const { rows } = await database.pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname = $1 order by 1`,
    [schemaNameOf({ name: projection.name, version: rebuilt.to })],
  );
  const copied = await copyRows(
    database.url,
    await takeRows(
      database.url,
      rows.map(({ name }) => name),
    ),
    `baseline_${projection.name.replaceAll('-', '_')}`,
  );
  const per = (records: number, ms: number) => (records / ms) * 1_000;
  const baseline = { name: 'COPY of the same rows', value: per(folded.records, copied), unit: 'events/s' } as const;
  const rate = per(folded.records, ended - began);
  const figures: Figure[] = [
    {
      name: `${projection.name} folded anew`,
      value: per(folded.records, folded.at - began),
      unit: 'events/s',
      baseline,
      goal: null,
    },
    { name: `${projection.name} rebuilt, compared and swapped`, value: rate, unit: 'events/s', baseline, goal: null },
  ];
  for (const millions of [1, 10]) {
    const name = `${projection.name}: ${millions} million events at that rate (extrapolated)`;
    figures.push({ name, value: (millions * 1e9) / rate, unit: 'ms', baseline: null, goal: null });
  }
  return stage.size === 'quick' ? figures.slice(0, 2) : figures;
}
