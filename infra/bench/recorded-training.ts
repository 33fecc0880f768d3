import './production.ts';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openEnvironment } from '../../src/environments/open-environment.ts';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { findPython } from '../../src/training/backends/torch/find-python.ts';
import { trainingSettings } from '../../src/training/backends/training-settings.ts';
import { chooseTasks } from '../../src/usecases/collect/choose-tasks.ts';
import { describeOutcome, isMet, type Outcome } from './outcome.ts';
import { type Loop, trainUnrecorded } from './unrecorded-loop.ts';

const run = promisify(execFile);
const ESPALIER = fileURLToPath(new URL('../../bin/espalier.js', import.meta.url));
const MOST = 1.15;
const SHAPE = { groups: 2, group: 8, maxSteps: 3, maxTokens: 32 } as const;

/**
 * Measures `espalier train` on a tiny Qwen2 in TextCraft, from the start of its process to its end, against a loop over the same
 * server and backend that records nothing. The model has random weights, so that no rollout ends before its last step and both
 * take as many. @throws Error where they do not, or Python has no torch.
 */
export async function benchRecordedTraining(python: string, updates: number): Promise<Outcome> {
  const found = await findPython(python);
  if (found.kind === 'none') throw new Error(found.reason);
  const folder = await mkdtemp(join(tmpdir(), 'espalier-recorded-'));
  try {
    const model = join(folder, 'model');
    await run(python, ['-m', 'espalier_rl.trainer.tiny', '--out', model], {
      env: childEnvironment({ PYTHONPATH: PYTHON_PACKAGE }),
    });
    const env = childEnvironment({ ESPALIER_HOME: join(folder, 'home'), ESPALIER_PYTHON: python });
    const espalier = (...args: readonly string[]) => run(process.execPath, [ESPALIER, ...args], { env, maxBuffer: 2 ** 26 });
    await espalier('status'); // makes the database of the installation, once
    const recorded = await timed(async () => {
      const { stdout } = await espalier(
        ...['--json', 'train', '--backend', 'torch', '--model', model, '--environment', 'textcraft', '--updates', `${updates}`],
        ...[
          '--groups',
          `${SHAPE.groups}`,
          '--group',
          `${SHAPE.group}`,
          '--max-steps',
          `${SHAPE.maxSteps}`,
          '--split',
          'all',
          '--tasks',
          '1',
        ],
        ...['--max-tokens', `${SHAPE.maxTokens}`, '--test-tasks', '0', '--keep-zero-variance', '--entropy', '0.01'],
      );
      const trained: { readonly ledger: { readonly trained: number } } = JSON.parse(stdout);
      return trained.ledger.trained;
    });
    const settings = trainingSettings.parse({
      objective: { kind: 'policy-gradient', estimator: { name: 'grpo' }, loss: { name: 'dual_clip' } },
      learningRate: 1e-6,
      epochs: 1,
      entropyCoefficient: 0.01,
    });
    const loop = { python, environment: 'textcraft', alias: await onlyTask('textcraft'), model, updates, settings, ...SHAPE };
    const samples = updates * SHAPE.groups * SHAPE.group;
    const unrecorded = async (members: Loop['members']) => {
      const { result, ms } = await timed(() => trainUnrecorded({ ...loop, members, folder: join(folder, members) }));
      if (recorded.result !== samples || result !== samples * SHAPE.maxSteps)
        throw new Error(
          `the two differ: ${recorded.result} of ${samples} rollouts recorded, ${result} of ${samples * SHAPE.maxSteps} steps without`,
        );
      return { name: `the same loop without a record, members ${members}`, value: ms, unit: 'ms' } as const;
    };
    const figure = { name: 'espalier train', value: recorded.ms, unit: 'ms' } as const;
    return {
      bench: 'recorded-training',
      figures: [
        { ...figure, baseline: await unrecorded('in turn'), goal: { kind: 'share', most: MOST } },
        { ...figure, baseline: await unrecorded('at once'), goal: null },
      ],
      conditions: { cores: availableParallelism(), torch: found.torch, updates, ...SHAPE, model: 'tiny Qwen2, random weights' },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the task that `--tasks 1` chooses: prompts of equal length on both sides. */
async function onlyTask(environment: string): Promise<string> {
  const kind = await openEnvironment(environment);
  try {
    const [task] = await chooseTasks(kind, 1, 0, null);
    if (!task) throw new Error(`${environment} has no task`);
    return task.alias;
  } finally {
    await kind.close();
  }
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const began = performance.now();
  const result = await work();
  return { result, ms: performance.now() - began };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outcome = await benchRecordedTraining(readConfig().python ?? 'python3', 6);
  process.stdout.write(`${describeOutcome(outcome)}\n`);
  if (outcome.figures.some((figure) => isMet(figure) === false)) process.exitCode = 1;
}
