import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveApi } from '../../src/app/serve-api.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EPISODES: Record<Size, number> = { full: 100, quick: 4 }; // of 20 steps
const LEAST = 3_000; // steps/s
const LEAST_OF_RAW = 0.7;

interface Times {
  readonly wall_s: number;
  readonly cpu_s: number;
}

/**
 * Measures what recording costs a Python program: steps of about 1.5 kB into the spool alone, with each durability, and from the
 * program to the log, next to raw POSTs of the same bytes in turns. The Python is that of ESPALIER_CONSUMERS_PYTHON, or
 * ESPALIER_PYTHON; it needs httpx.
 */
export async function benchPythonRecord(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const projector = await runProjections({ log: platform.log, database });
  stage.closing(() => projector.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'] });
  const { consumersPython, python } = readConfig();
  const interpreter = consumersPython ?? python ?? 'python3';
  const args = ['infra/bench/python_record.py', server.url, key, String(EPISODES[stage.size])];
  const env = { ...process.env, PYTHONPATH: 'python' };
  const { stdout } = await promisify(execFile)(interpreter, args, { cwd: ROOT, env, maxBuffer: 2 ** 24 });
  const found = JSON.parse(stdout) as Record<string, Times> & { steps: number; bytes: number }; // as the script writes it
  const rate = (name: string, time: keyof Times) => found.steps / (found[name]?.[time] || Number.POSITIVE_INFINITY);
  const raw = { name: 'raw POST of the same bytes', value: rate('raw', 'wall_s'), unit: 'steps/s' } as const;
  const spools = ['none', 'write', 'fsync'].flatMap((durable): readonly Figure[] => {
    const goal = durable === 'write' ? ({ kind: 'at-least', limit: LEAST } as const) : null;
    const name = `into the spool, durable="${durable}"`;
    return [
      { name: `${name}, of one core`, value: rate(`spool ${durable}`, 'cpu_s'), unit: 'steps/s', baseline: null, goal },
      { name: `${name}, of the wall`, value: rate(`spool ${durable}`, 'wall_s'), unit: 'steps/s', baseline: null, goal: null },
    ];
  });
  return {
    bench: 'python-record',
    figures: [
      ...spools,
      {
        name: 'from episode.step to the log',
        value: rate('client', 'wall_s'),
        unit: 'steps/s',
        baseline: raw,
        goal: { kind: 'ratio', least: LEAST_OF_RAW },
      },
    ],
    conditions: {
      ...stage.conditions(),
      steps: found.steps,
      'bytes of a step': Math.round(found.bytes),
      python: interpreter.split('/').at(-1) ?? '',
    },
  };
}
