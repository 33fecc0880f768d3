import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/runtime/config.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import type { BenchResult, Figure } from './bench-result.ts';
import { runScript } from './side-by-side/measure-system.ts';
import { homeOf, type Size, type Stage, serveStage } from './stage.ts';

const PROCESSES: Record<Size, number> = { full: 64, quick: 2 };
const EPISODES: Record<Size, number> = { full: 10, quick: 2 }; // of each process, of 20 steps

/** Measures how fast many processes record into one run by the Python client: until it is in their spools, and until the server has it. */
export async function benchRecorders(stage: Stage): Promise<BenchResult> {
  const { url, key } = await serveStage(stage);
  const env = { PYTHONPATH: PYTHON_PACKAGE, ESPALIER_URL: url, ESPALIER_TOKEN: key, ESPALIER_SPOOL: await homeOf(stage) };
  const script = fileURLToPath(new URL('./recorders.py', import.meta.url));
  const python = readConfig().python ?? 'python3';
  const [processes, episodes] = [PROCESSES[stage.size], EPISODES[stage.size]];
  const took = await runScript<{ steps: number; kept_s: number; sent_s: number }>(
    python,
    script,
    [`${processes}`, `${episodes}`],
    env,
  );
  const figure = (name: string, seconds: number): Figure => ({
    name: `${processes} processes into one run, ${name}`,
    value: took.steps / seconds,
    unit: 'steps/s',
    baseline: null,
    floor: null,
  });
  return {
    bench: 'recorders',
    figures: [figure('kept in their spools', took.kept_s), figure('durable on the server', took.sent_s)],
    conditions: { steps: took.steps, 'text of a step': '1,000 bytes', ...stage.conditions() },
  };
}
