import { fileURLToPath } from 'node:url';
import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import type { Figure, Goal, Outcome, Unit } from './outcome.ts';
import { installedPython, installPython } from './side-by-side/install.ts';
import { type Measured, measureSystem, runScript } from './side-by-side/measure-system.ts';
import { SYSTEMS } from './side-by-side/systems.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const EPISODES: Record<Size, number> = { full: 500, quick: 10 }; // of 20 steps
const FOLDER = fileURLToPath(new URL('./side-by-side', import.meta.url));

/** A column of the table: its unit, what of a measurement it shows, and whether more is better. */
const COLUMNS: readonly { name: string; unit: Unit; of: (found: Measured) => number | null; best: 'most' | 'least' }[] = [
  { name: 'durable', unit: 'steps/s', of: ({ steps, durable_s }) => durable_s && steps / durable_s, best: 'most' },
  { name: 'queryable', unit: 'steps/s', of: ({ steps, queryable_s }) => steps / queryable_s, best: 'most' },
  { name: 'on disk, of a step', unit: 'bytes', of: ({ steps, bytes }) => bytes && bytes / steps, best: 'least' },
  { name: 'to fetch 1,000 steps', unit: 'ms', of: ({ fetch_s }) => fetch_s * 1_000, best: 'least' },
];

/**
 * Records the same steps by the clients of Espalier, MLflow, Phoenix and Agent Lightning's store, each into its own server with
 * the storage that it has without further set-up, at its best batch setting. Installs what is missing from PyPI into Pythons of
 * their own below the cache folder; `--quick` takes what is there.
 */
export async function benchSideBySide(stage: Stage): Promise<Outcome> {
  const episodes = EPISODES[stage.size];
  const own = await measureOwn(stage, episodes);
  const others: { name: string; keeps: string; found: Measured }[] = [];
  for (const system of SYSTEMS) {
    const python = stage.size === 'full' ? await installPython(system.packages) : installedPython(system.packages);
    if (python === null) continue;
    const found = await measureSystem(system, python, episodes);
    others.push({ name: system.packages.join(' ').replace('==', ' '), keeps: system.keeps, found });
  }
  const figures = COLUMNS.flatMap(({ name, unit, of, best }): readonly Figure[] => {
    const figure = (system: string, value: number | null): readonly Figure[] =>
      value === null ? [] : [{ name: `${system}, ${name}`, value, unit, baseline: null, goal: null }];
    // the goal is to be first among those that keep what they were sent
    const durable = others.flatMap((other) =>
      other.found.durable_s === null ? [] : [{ ...other, value: of(other.found) ?? 0 }],
    );
    const [first] = durable.sort((a, b) => (best === 'most' ? b.value - a.value : a.value - b.value));
    const goal: Goal = best === 'most' ? { kind: 'ratio', least: 1 } : { kind: 'share', most: 1 };
    const ours = figure('Espalier', of(own)).map((each) =>
      first === undefined ? each : { ...each, baseline: { name: first.name, value: first.value, unit }, goal },
    );
    return [...ours, ...others.flatMap((other) => figure(other.name, of(other.found)))];
  });
  return {
    bench: 'side-by-side',
    figures,
    conditions: {
      ...stage.conditions(),
      steps: own.steps,
      'text of a step': '1,000 bytes',
      Espalier: 'spool durable="write", embedded log with fsync, API and projections in one process',
      ...Object.fromEntries(others.map(({ name, keeps, found }) => [name, `${keeps}; ${found.batch} spans at a time`])),
    },
  };
}

async function measureOwn(stage: Stage, episodes: number): Promise<Measured> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const projector = await runProjections({ log: platform.log, database });
  stage.closing(() => projector.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'], projects: 'all' });
  const { consumersPython, python } = readConfig();
  const size = async () => {
    const { rows } = await database.pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
    return Number(rows[0]?.bytes);
  };
  const before = await size();
  const env = { PYTHONPATH: `${PYTHON_PACKAGE}:${FOLDER}`, TOKEN: key };
  const interpreter = consumersPython ?? python ?? 'python3';
  const said = await runScript(interpreter, 'record_espalier.py', [server.url, `${episodes}`, '1'], env);
  return { ...said, batch: 0, bytes: (await size()) - before };
}
