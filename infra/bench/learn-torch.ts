import './production.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '../../src/runtime/config.ts';
import { findPython } from '../../src/training/backends/torch/find-python.ts';
import type { ModelSpec } from '../../src/training/backends/torch/torch-options.ts';
import { learnEcho } from './learn-echo.ts';

const HELP = `Lets a language model learn to echo a character by policy gradients, and prints its success before and after.

  npm run learn:torch -- [options]

  --updates N          updates of the weights (60)
  --group N            answers to each of the ten tasks per update (32)
  --learning-rate X    (0.003 for the tiny model, 0.000002 for a folder)
  --seed N             (1)
  --model FOLDER       a causal language model as transformers writes it, in place of a tiny byte-level transformer of random weights
  --precision P        float32, or bfloat16 for a model on a GPU

Needs a Python with torch: ESPALIER_PYTHON=/path/to/python. On a GPU, for example:

  ESPALIER_PYTHON=venv/bin/python npm run learn:torch -- --model ./Qwen2.5-0.5B-Instruct --precision bfloat16 --updates 20 --group 16
`;

const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '60' },
    group: { type: 'string', default: '32' },
    'learning-rate': { type: 'string' },
    seed: { type: 'string', default: '1' },
    model: { type: 'string' },
    precision: { type: 'string', default: 'float32' },
    help: { type: 'boolean' },
  },
});
if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const found = await findPython(readConfig().python);
  if (found.kind === 'none') return refuse(found.reason);
  const { precision } = values;
  if (precision !== 'float32' && precision !== 'bfloat16') return refuse('--precision is float32 or bfloat16');
  const model: ModelSpec = values.model
    ? { kind: 'folder', path: values.model, precision }
    : { kind: 'tiny', layers: 2, width: 64, heads: 4, context: 64 };
  const folder = await mkdtemp(join(tmpdir(), 'espalier-learn-'));
  try {
    process.stdout.write(`torch ${found.torch}, ${values.model ?? 'a tiny transformer of random weights'}\n`);
    const outcome = await learnEcho({
      python: found.python,
      folder,
      model,
      updates: Number(values.updates),
      group: Number(values.group),
      seed: Number(values.seed),
      learningRate: Number(values['learning-rate'] ?? (values.model ? 2e-6 : 3e-3)),
      onUpdate: ({ update, meanReward, success }) => {
        process.stdout.write(
          `update ${String(update).padStart(3)}  reward ${meanReward.toFixed(3)}  success ${percent(success)}\n`,
        );
      },
    });
    const { before, after, seconds, device, weights } = outcome;
    process.stdout.write(
      `success before ${percent(before.success)}, after ${percent(after.success)} (${after.answers} answers each, temperature 1)\n` +
        `${values.updates} updates in ${seconds.toFixed(0)} s on ${device}; weights ${weights.slice(0, 12)}\n`,
    );
    if (after.success <= before.success) refuse('it did not learn');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function refuse(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
