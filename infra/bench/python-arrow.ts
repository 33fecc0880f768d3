import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { fillTrajectories } from './fill-trajectories.ts';
import type { Outcome } from './outcome.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const SCRIPT = fileURLToPath(new URL('./python_arrow.py', import.meta.url));
const TRAJECTORIES: Record<Size, number> = { full: 100_000, quick: 2_000 };
const ROUNDS: Record<Size, number> = { full: 3, quick: 1 };
const LIMIT_MS: Record<Size, number> = { full: 10_000, quick: 60_000 };

/** Milliseconds and rows; `cpu` is processor time of Python. */
interface Found {
  readonly rows: number;
  readonly columns: number;
  readonly seconds: number;
  readonly cpu: number;
  readonly parquet: number;
  readonly parquetCpu: number;
  readonly bytes: number;
  readonly pandas: string;
  readonly pyarrow: string;
}

/**
 * Measures how long 100,000 trajectories take into a pandas DataFrame by `db.trajectories().pandas()`, over loopback and without
 * compression, and how long the same rows take from a Parquet file. The best of some rounds: others use the machine.
 * @throws Error where Python has not pandas, pyarrow and httpx (`ESPALIER_CONSUMERS_PYTHON`).
 */
export async function benchPythonArrow(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const { db } = await stage.database();
  await fillTrajectories(db, { trajectories: TRAJECTORIES[stage.size], runs: 4 });
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(db, { name: 'bench', scopes: ['read'], projects: 'all' });
  const env = { ...childEnvironment({ PYTHONPATH: PYTHON_PACKAGE }), ESPALIER_URL: server.url, ESPALIER_TOKEN: key };
  const { consumersPython } = readConfig();
  const before = process.cpuUsage();
  const { stdout } = await promisify(execFile)(consumersPython ?? 'python3', [SCRIPT, String(ROUNDS[stage.size])], { env });
  const used = process.cpuUsage(before);
  const found = JSON.parse(stdout) as Found;
  const ms = (seconds: number) => seconds * 1_000;
  return {
    bench: 'python-arrow',
    figures: [
      {
        name: `${found.rows.toLocaleString('en')} trajectories into pandas`,
        value: ms(found.seconds),
        unit: 'ms',
        baseline: { name: 'pandas.read_parquet', value: ms(found.parquet), unit: 'ms' },
        goal: { kind: 'below', limit: LIMIT_MS[stage.size] },
      },
      {
        name: 'processor time of Python',
        value: ms(found.cpu),
        unit: 'ms',
        baseline: { name: 'pandas.read_parquet', value: ms(found.parquetCpu), unit: 'ms' },
        goal: null,
      },
      {
        name: 'processor time of the server, a reading',
        unit: 'ms',
        baseline: null,
        goal: null,
        value: (used.user + used.system) / 1_000 / (ROUNDS[stage.size] + 1), // one more writes the file
      },
    ],
    conditions: {
      columns: found.columns,
      'Parquet file': `${Math.round(found.bytes / 1e6)} MB, zstd`,
      rounds: ROUNDS[stage.size],
      pandas: found.pandas,
      pyarrow: found.pyarrow,
      ...stage.conditions(),
    },
  };
}
