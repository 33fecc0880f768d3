import { join } from 'node:path';
import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import type { BenchResult, Figure, Unit } from './bench-result.ts';
import { installPython, type Measured, measureSystem, type Reply, runScript, SCRIPTS } from './side-by-side/measure-system.ts';
import { SYSTEMS } from './side-by-side/systems.ts';
import { openStagePlatform, type Size, type Stage } from './stage.ts';

const EPISODES: Record<Size, number> = { full: 100, quick: 10 }; // of 20 steps
/** What the Python client needs to fetch steps as a table. */
const PACKAGES = ['httpx==0.28.1', 'pyarrow==26.0.1'];

/** A column of the table: its unit, what of a measurement it shows, and whether more is better; null: nothing is promised. */
const COLUMNS: readonly { name: string; unit: Unit; of: (measured: Measured) => number | null; best: 'most' | 'least' | null }[] =
  [
    { name: 'durable', unit: 'steps/s', of: ({ steps, durable_s }) => durable_s && steps / durable_s, best: 'most' },
    { name: 'queryable', unit: 'steps/s', of: ({ steps, queryable_s }) => steps / queryable_s, best: 'most' },
    { name: 'to fetch 1,000 steps', unit: 'ms', of: ({ fetch_s }) => fetch_s * 1_000, best: 'least' },
    { name: 'on disk, of a step', unit: 'bytes', of: ({ steps, bytes }) => bytes && bytes / steps, best: null },
  ];

/**
 * Records the same steps by the clients of Espalier, MLflow, Phoenix and Agent Lightning's store, each into its own server with
 * the storage that it has without further set-up. Installs what is missing from PyPI into Pythons of their own in the cache
 * folder; `--quick` measures Espalier only.
 */
export async function benchSideBySide(stage: Stage): Promise<BenchResult> {
  const episodes = EPISODES[stage.size];
  const own = await recordOwn(stage, episodes);
  const others: { name: string; keeps: string; measured: Measured }[] = [];
  for (const system of stage.size === 'full' ? SYSTEMS.filter(({ steps }) => steps !== null) : []) {
    const python = await installPython(system.pins);
    process.stderr.write(`side-by-side: recording by ${system.pins[0]}\n`);
    others.push({
      name: system.pins[0].replace('==', ' '),
      keeps: system.keeps,
      measured: await measureSystem(system, python, episodes),
    });
  }
  const figures = COLUMNS.flatMap(({ name, unit, of, best }): readonly Figure[] => {
    const figure = (system: string, value: number | null): readonly Figure[] =>
      value === null ? [] : [{ name: `${system}, ${name}`, value, unit, baseline: null, floor: null }];
    // compared with the best of those that keep what they were sent
    const durable = others
      .filter(({ measured }) => measured.durable_s !== null)
      .map((other) => ({ name: other.name, value: of(other.measured) ?? 0, unit }))
      .sort((a, b) => (best === 'most' ? b.value - a.value : a.value - b.value));
    const baseline = durable[0] ?? null;
    const floor = { kind: best === 'most' ? 'ratio-at-least' : 'ratio-at-most', limit: 1 } as const;
    const ours = figure('Espalier', of(own)).map((each) => ({ ...each, baseline, floor: baseline && best && floor }));
    return [...ours, ...others.flatMap((other) => figure(other.name, of(other.measured)))];
  });
  return {
    bench: 'side-by-side',
    figures,
    conditions: {
      ...stage.conditions(),
      steps: own.steps,
      'text of a step': '1,000 bytes',
      Espalier: 'spool durable="write", embedded log with fsync, API and projections in one process',
      ...Object.fromEntries(others.map(({ name, keeps }) => [name, keeps])),
    },
  };
}

/** Records the work by the Python client into a platform of the stage, with API and projections in this process. */
async function recordOwn(stage: Stage, episodes: number): Promise<Measured> {
  const platform = await openStagePlatform(stage);
  const { database, log } = platform;
  const projector = await runProjections({ log, database });
  stage.closing(() => projector.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'], projects: 'all' });
  const size = async () => {
    const { rows } = await database.pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
    return Number(rows[0]?.bytes);
  };
  const python = readConfig().consumersPython ?? (await installPython(PACKAGES));
  const before = await size();
  const env = { PYTHONPATH: `${PYTHON_PACKAGE}:${SCRIPTS}`, TOKEN: key };
  const reply: Reply = await runScript(python, join(SCRIPTS, 'record_espalier.py'), [server.url, `${episodes}`, '1'], env);
  return { ...reply, bytes: (await size()) - before };
}
