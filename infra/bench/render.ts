import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/runtime/config.ts';
import type { BenchResult, Figure } from './bench-result.ts';
import { composeHistories } from './render-text.ts';
import type { RenderFigures } from './render-worker.ts';
import type { Size, Stage } from './stage.ts';

const ENVIRONMENTS: Record<Size, number> = { full: 32, quick: 2 };
const STEPS: Record<Size, number> = { full: 50, quick: 3 };
const [WORKER, SCRIPT] = ['./render-worker.ts', './render_pillow.py'].map((name) =>
  fileURLToPath(new URL(name, import.meta.url)),
);

/**
 * Measures drawing the histories of 32 environments at every step, and the same work by Pillow (`ESPALIER_PYTHON`) without a cache
 * and with one of segments. A process for each, one thread, CPU time: other work on the machine then counts little. Both make each
 * image from its records, without digests or PNG; ours hands out views. Pixels are those of the generation of Pillow that is there.
 * @throws Error when the pixels differ.
 */
export async function benchRender(stage: Stage): Promise<BenchResult> {
  const python = readConfig().python ?? 'python3';
  const asked = spawnSync(python, ['-c', 'import PIL, numpy; print(PIL.__version__)'], { encoding: 'utf8' });
  const pillow = asked.status === 0 ? asked.stdout.trim() : null;
  const [environments, steps] = [ENVIRONMENTS[stage.size], STEPS[stage.size]];
  const sizes = [environments, steps, pillow?.split('.')[0] ?? 12].map(String);
  const ours = run(process.execPath, ['--import', 'tsx', WORKER ?? '', ...sizes]);
  const histories = JSON.stringify(composeHistories(environments, steps, 7));
  const theirs = (way: 'none' | 'cache') => (pillow === null ? null : run(python, [SCRIPT ?? '', way], histories));
  const [plain, cached] = [theirs('none'), theirs('cache')];
  for (const other of [plain, cached])
    if (other !== null && other.digest !== ours.digest) throw new Error(`Pillow ${pillow} draws other pixels`);
  const rate = ({ stepMs }: RenderFigures) => (environments * stepMs.length * 1_000) / stepMs.reduce((sum, ms) => sum + ms, 0);
  const figure = (name: string, other: RenderFigures | null, limit: number): Figure => ({
    name: 'histories drawn',
    value: rate(ours),
    unit: 'images/s',
    baseline: other && { name, value: rate(other), unit: 'images/s' },
    floor: other && { kind: 'ratio-at-least', limit },
  });
  return {
    bench: 'render',
    figures: [
      figure('Pillow, no cache', plain, 200),
      figure('Pillow, segment cache', cached, 10),
      {
        name: 'memory of the cache',
        value: ours.keptBytes,
        unit: 'bytes',
        baseline: cached && { name: 'Pillow, segment cache', value: cached.keptBytes, unit: 'bytes' },
        floor: cached && { kind: 'ratio-at-most', limit: 0.5 },
      },
    ],
    conditions: {
      environments,
      steps,
      time: 'CPU, one thread',
      Pillow: pillow ?? `not in ${python}: there is nothing to compare with`,
      ...stage.conditions(),
    },
  };
}

function run(command: string, args: readonly string[], input = ''): RenderFigures {
  const { status, stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}: ${stderr.slice(-500)}`);
  return JSON.parse(stdout.slice(stdout.indexOf('{'))) as RenderFigures; // printed by it
}
