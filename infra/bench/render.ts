import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { composeHistories } from './render-text.ts';
import type { RenderFigures } from './render-worker.ts';

/**
 * Measures what drawing histories takes, with and without cache, and the same work by Pillow where python3 has it. A process for
 * each way, one thread, CPU time: other work on the machine then counts little. Both sides make each image of each step from its
 * records, without digests or PNG; ours with cache hands out views. Pixels are those of the generation of Pillow that is there.
 *
 *   npm run bench:render -- [environments] [steps] [factor]        PYTHON=… names another interpreter
 */
const [, , environments = '32', steps = '50', factor = '1'] = process.argv;
const PYTHON = process.env.PYTHON ?? 'python3';
const WAYS = { none: 'no cache', append: 'naive append', cache: 'segment cache' } as const;

const pillow = spawnSync(PYTHON, ['-c', 'import PIL, numpy; print(PIL.__version__)'], { encoding: 'utf8' }).stdout.trim();
const generation = pillow.split('.')[0] || '12';

const found = new Map<string, RenderFigures>();
const worker = fileURLToPath(new URL('./render-worker.ts', import.meta.url));
for (const [way, name] of Object.entries(WAYS)) {
  const warmed = (histories: number): RenderFigures =>
    run(process.execPath, ['--import', 'tsx', worker, way, environments, steps, factor, generation, String(histories)]);
  const { stepMs } = warmed(96);
  found.set(`ours, ${name}`, { ...warmed(16), stepMs });
}
if (pillow !== '') {
  const script = fileURLToPath(new URL('./render_pillow.py', import.meta.url));
  const histories = JSON.stringify(composeHistories(Number(environments), Number(steps), 7));
  for (const way of ['none', 'cache'] as const) found.set(`Pillow, ${WAYS[way]}`, run(PYTHON, [script, way, factor], histories));
} else {
  process.stdout.write(`${PYTHON} has no Pillow with numpy: the comparison is left out\n`);
}
report();

function run(command: string, args: readonly string[], input = ''): RenderFigures {
  const { status, stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}: ${stderr.slice(-500)}`);
  const figures: RenderFigures = JSON.parse(stdout.slice(stdout.indexOf('{')));
  return figures;
}

function report(): void {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, { stepMs, keptBytes, peakBytes, imageBytes }] of found) {
    rows[name] = {
      'ms a step': round(mean(stepMs)),
      'ms more each step': round(slope(stepMs)),
      'kept MB': round(keptBytes / 1e6),
      'peak MB': round(peakBytes / 1e6),
      'images MB': round(imageBytes / 1e6),
    };
  }
  process.stdout.write(`${environments} environments, ${steps} steps, factor ${factor}; CPU time; Pillow ${pillow}\n`);
  console.table(rows);
  const digests = new Set([...found.values()].map(({ digest }) => digest));
  process.stdout.write(digests.size === 1 ? 'all made the same pixels\n' : 'NOT all made the same pixels\n');
  if (factor === '1') compare('Pillow, no cache', 200);
  compare('Pillow, segment cache', factor === '1' ? 10 : 5);
  const [ours, theirs] = [found.get('ours, segment cache'), found.get('Pillow, segment cache')];
  if (!ours || !theirs) return;
  for (const what of ['keptBytes', 'peakBytes'] as const) {
    process.stdout.write(
      `${what === 'keptBytes' ? 'kept' : 'peak'} memory is ${round(ours[what] / theirs[what])} of Pillow's with cache (goal 0.5)\n`,
    );
  }
}

function compare(name: string, goal: number): void {
  const [ours, theirs] = [found.get('ours, segment cache'), found.get(name)];
  if (!ours || !theirs) return;
  process.stdout.write(
    `ours with cache is ${round(mean(theirs.stepMs) / mean(ours.stepMs))} x as fast as ${name} (goal ${goal})\n`,
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Least squares over the number of the step. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const [level, spread] = [mean(values), values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0)];
  return spread === 0 ? 0 : values.reduce((sum, value, i) => sum + (i - middle) * (value - level), 0) / spread;
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
