import type { Command } from 'commander';
import { sha256Hex } from '../digest/sha256.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { canonicalJson } from '../events/codec.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readLineages } from '../projections/training-pool/read-lineages.ts';
import { createLogger } from '../runtime/logger.ts';
import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import { train } from '../usecases/train/train.ts';
import { type TrainPlan, trainPlan } from '../usecases/train/train-plan.ts';
import type { EvaluatedVersion, TrainedPolicy } from '../usecases/train/training.ts';
import { addComputationOptions, type ComputationFlags, computationOf } from './computation-flags.ts';
import { ensureProjector } from './ensure-projector.ts';
import { writeLedger } from './ledger.ts';
import { plotSvg } from './plot-svg.ts';
import { rewardWeights } from './reward-weights.ts';
import { exitStopped } from './stoppable.ts';
import { progressLine, say, table } from './terminal.ts';
import { numberBetween, wantsJson, wholeNumber, withPlatform } from './with-platform.ts';
import { plotFile, writePlot } from './write-plot.ts';

interface TrainFlags extends ComputationFlags {
  readonly policy?: string;
  readonly environment: string;
  readonly updates: number;
  readonly tasks?: number;
  readonly split: string;
  readonly groups: number;
  readonly group: number;
  readonly keepZeroVariance?: true;
  readonly rewards?: Readonly<Record<string, number>>;
  readonly staleness: number;
  readonly temperature: number;
  readonly maxSteps: number;
  readonly learningRate: number;
  readonly epochs: number;
  readonly entropy: number;
  readonly seed: number;
  readonly testSplit: string;
  readonly testTasks: number;
  readonly rollouts: number;
  readonly every?: number;
  readonly resume?: true;
  readonly plot?: string;
}

const { learningRate, epochs } = LINEAR_SETTINGS.grpo;

/** `espalier train`: a policy from its first version to the one asked for, collector, batcher and trainer at work together. */
export function addTrain(program: Command): void {
  const command = program
    .command('train')
    .option('--policy <name>', 'what its versions are filed under; left out, a name made of the options')
    .option('--environment <name>', ENVIRONMENT_FORMS, 'textcraft')
    .option('--updates <n>', 'batches to train: the last version', wholeNumber('--updates', 1, 100_000), 12)
    .option('--tasks <n>', 'tasks to train on, spread over the depths; all of the split when left out', wholeNumber('--tasks', 1))
    .option('--split <name>', 'tasks to train on; "all" for every one', 'train')
    .option('--groups <n>', 'groups of a batch', wholeNumber('--groups', 1, 5_000), 8)
    .option('--group <n>', 'rollouts of a group', wholeNumber('--group', 1, 5_000), 8)
    .option(
      '--rewards <list>',
      'reward components that are trained on with their weights, as environment=1,answer-f1=0.1; the environment alone when left out',
      rewardWeights,
    )
    .option('--keep-zero-variance', 'train on groups whose rollouts all earned the same, too')
    .option(
      '--staleness <n>',
      'versions that collected steps may lie behind; 0 is strictly on-policy',
      wholeNumber('--staleness', 0, 1_000),
      0,
    )
    .option('--temperature <t>', 'of the policy', numberBetween('--temperature', 0.01, 100), 1)
    .option('--max-steps <n>', 'steps of a rollout', wholeNumber('--max-steps', 1, 10_000), 20)
    .option('--learning-rate <r>', 'of Adam', numberBetween('--learning-rate', 1e-9, 100), learningRate)
    .option('--epochs <n>', 'over each batch', wholeNumber('--epochs', 1, 100), epochs)
    .option('--entropy <c>', 'bonus for staying broad', numberBetween('--entropy', 0, 100), 0)
    .option('--seed <n>', 'of tasks, rollouts and mini-batches', wholeNumber('--seed', 0), 1)
    .option('--test-split <name>', 'tasks to measure on; "all" for every one', 'test')
    .option('--test-tasks <n>', 'how many; 0 measures nothing', wholeNumber('--test-tasks', 0), 25)
    .option('--rollouts <n>', 'episodes per test task', wholeNumber('--rollouts', 1), 4)
    .option('--every <n>', 'measure each n-th version too, not only the first and the last', wholeNumber('--every', 1))
    .option('--resume', 'go on with a policy that was begun with the same options')
    .option('--plot <file>', 'write success by version as a drawing, an .svg or a .png', plotFile);
  addComputationOptions(command);
  command.action(async (flags: TrainFlags) => {
    const plan = planOf(flags);
    await withPlatform('train', async (platform, signal) => {
      const projector = await ensureProjector(platform);
      try {
        await projector.settle();
        await refuseTaken(platform, plan, flags);
        const trained = await trainAndReport(platform, plan, signal);
        if (flags.plot !== undefined) await writePlot(flags.plot, plotOf(plan, trained.evaluations));
        if (wantsJson(command)) say(JSON.stringify(trained));
        else report(trained, plan);
        if (trained.state !== 'completed' || trained.ledger.difference !== 0) process.exitCode = 1;
        if (trained.state === 'stopped') exitStopped();
      } finally {
        await projector.close();
      }
    });
  });
}

function planOf(flags: TrainFlags): TrainPlan {
  const named = (split: string) => (split === 'all' ? null : split);
  const settings = {
    ...computationOf(flags),
    ...{ learningRate: flags.learningRate, epochs: flags.epochs, entropyCoefficient: flags.entropy },
  };
  const { environment, updates, temperature, maxSteps, seed, testTasks: tasks } = flags;
  const plan = {
    ...{
      environment,
      split: named(flags.split),
      tasks: flags.tasks ?? null,
      settings,
      updates,
      temperature,
      maxSteps,
      seed,
      taskSeed: 0,
    },
    ...{ groupsPerBatch: flags.groups, groupSize: flags.group, zeroVariance: flags.keepZeroVariance ? 'keep' : 'reject' },
    ...(flags.rewards === undefined ? {} : { rewards: flags.rewards }),
    ...{ mode: flags.staleness === 0 ? 'strict' : 'bounded', maxStaleness: flags.staleness },
    evaluation:
      tasks === 0 ? null : { split: named(flags.testSplit), tasks, rollouts: flags.rollouts, every: flags.every ?? updates },
  };
  const digest = sha256Hex(canonicalJson(plan)).slice(0, 8);
  return trainPlan.parse({ policyId: flags.policy ?? `linear-${flags.estimator}-${digest}`, ...plan });
}

/** A name that is taken is refused unless it is to go on: versions of two trainings under one name could not be distinguished. */
async function refuseTaken({ database }: Platform, { policyId }: TrainPlan, { resume }: TrainFlags): Promise<void> {
  const [known] = await readLineages(database.db, [policyId]);
  if (known && !resume)
    throw new Error(`the policy ${policyId} was begun before; add --resume to go on, or name another --policy`);
  if (!known && resume) throw new Error(`there is no policy ${policyId} to go on with; leave --resume out to begin it`);
}

async function trainAndReport(platform: Platform, plan: TrainPlan, signal: AbortSignal): Promise<TrainedPolicy> {
  const line = progressLine();
  let rollouts = 0;
  process.stderr.write(`policy ${plan.policyId}; killed, it goes on with the same options and --resume\n`);
  const trained = await train(platform, {
    ...{ plan, signal, logger: createLogger({ level: 'error' }) },
    concurrency: plan.groupsPerBatch * (1 + plan.maxStaleness),
    onCollect: (progress) => {
      rollouts = progress.rollouts;
      line.show(`${progress.rollouts} rollouts, ${progress.steps} steps`);
    },
    onUpdate: ({ version, meanReturn, samples, ms }) =>
      line.end(
        `version ${version} of ${plan.updates}: ${samples} samples, mean return ${meanReturn.toFixed(3)}, ${ms.toFixed(0)} ms; ${rollouts} rollouts so far`,
      ),
    onTrouble: ({ ordinal, reason }) => line.end(`batch ${ordinal} was not trained: ${reason}`),
    onEvaluation: (evaluated) =>
      line.end(`version ${evaluated.version}: ${successText(evaluated)} on ${plan.evaluation?.split ?? 'all'} tasks`),
  });
  line.end();
  return trained;
}

/** Describes how it ended when it did not come to the version asked for. */
function endText({ state, message, version }: TrainedPolicy): string | null {
  switch (state) {
    case 'completed':
      return null;
    case 'stopped':
      return `stopped at version ${version}; go on with the same command and --resume`;
    case 'failed':
      return `failed: ${message}`;
    case 'tasks-used-up':
      return message;
    default:
      return state satisfies never;
  }
}

function successText({ evaluation }: EvaluatedVersion): string {
  return `success ${(100 * evaluation.successRate).toFixed(1)}%`;
}

function report(trained: TrainedPolicy, plan: TrainPlan): void {
  const { policyId, version, weights, evaluations, ledger } = trained;
  if (evaluations.length > 0) {
    const rows = evaluations.map(({ version: at, evaluation: { successRate, successInterval: interval, meanReturn } }) => [
      at,
      (100 * successRate).toFixed(1),
      `${(100 * interval.low).toFixed(1)} – ${(100 * interval.high).toFixed(1)}`,
      meanReturn.toFixed(3),
    ]);
    say(table(['version', 'success %', '95% over episodes', 'mean return'], rows));
    say();
  }
  say(writeLedger(ledger));
  say();
  const { objective } = plan.settings;
  say(
    `policy ${policyId} is at version ${version}${objective.kind === 'policy-gradient' ? `, trained by ${objective.estimator.name}` : ''}; weights ${weights}`,
  );
  const end = endText(trained);
  if (end !== null) say(end);
}

function plotOf(plan: TrainPlan, evaluations: readonly EvaluatedVersion[]): string {
  return plotSvg({
    title: `Success of ${plan.policyId}`,
    x: { label: 'version', ticks: evaluations.map(({ version }) => version) },
    y: { label: 'success', from: 0, to: 1 },
    series: [
      {
        name: 'test tasks',
        points: evaluations.map(({ version, evaluation }) => ({
          x: version,
          y: evaluation.successRate,
          interval: evaluation.successInterval,
        })),
      },
    ],
  });
}
