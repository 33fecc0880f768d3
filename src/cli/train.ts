import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { readLineages } from '../projections/training-pool/read-lineages.ts';
import { createLogger } from '../runtime/logger.ts';
import { isOwn } from '../usecases/train/declaration/trainer-of.ts';
import { train } from '../usecases/train/train.ts';
import type { TrainLoopResult } from '../usecases/train/train-loop.ts';
import { backendOf, promptOf, type TrainPlan } from '../usecases/train/train-plan.ts';
import type { EvaluatedVersion, TrainedPolicy } from '../usecases/train/training.ts';
import { writeLedger } from './ledger.ts';
import { compressionNote } from './prompt-flags.ts';
import { exitStopped } from './stoppable.ts';
import { type Lines, print, printError, progressLine, table } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { addTrainOptions, type TrainFlags, trainPlanOf } from './train-plan-of.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { warnMostFailed, warnUnshaped } from './with-resume-hint.ts';

/** `espalier train`: a policy from its first version to the one asked for, collector, batcher and trainer at work together. */
export function addTrain(program: Command): void {
  const command = program.command('train');
  addTrainOptions(command);
  command.action(async (flags: TrainFlags) => {
    const plan = await trainPlanOf(command, flags);
    await withProjector('train', async ({ platform, signal, settle }) => {
      await settle();
      await refuseTaken(platform, plan, flags);
      const trained = await throughOutages(signal, () => trainAndReport(platform, plan, signal));
      if (wantsJson(command)) print(JSON.stringify(trained));
      else report(trained, plan);
      if (trained.state !== 'completed' || trained.ledger.difference !== 0) process.exitCode = 1;
      warnMostFailed(trained.runId, trained);
      if (trained.state === 'stopped') exitStopped();
      await settle();
      await warnUnshaped(platform, trained.runId);
    });
  });
}

/** A name that is taken is refused unless it is to go on: versions of two trainings under one name could not be distinguished. */
async function refuseTaken({ database }: Platform, { policyId }: TrainPlan, { resume }: TrainFlags): Promise<void> {
  const [known] = await readLineages(database.db, [policyId]);
  if (known && !resume)
    throw new Error(`the policy ${policyId} was begun before; add --resume to go on, or name another --policy`);
  if (!known && resume) throw new Error(`there is no policy ${policyId} to continue; leave --resume out to begin it`);
}

async function trainAndReport(platform: Platform, plan: TrainPlan, signal: AbortSignal): Promise<TrainedPolicy> {
  const line = progressLine();
  let rollouts = 0;
  printError(`policy ${plan.policyId}; killed, it goes on with the same options and --resume`);
  if (!isOwn(backendOf(plan))) printError(trainerText(platform.config, plan));
  const note = compressionNote(promptOf(plan), plan.rewards ?? {});
  if (note !== null) printError(note);
  const trained = await train(platform, {
    plan,
    signal,
    logger: createLogger({ level: 'error' }),
    concurrency: plan.groupsPerBatch * (1 + plan.maxStaleness),
    onCollect: (progress) => {
      rollouts = progress.rollouts;
      line.show(`${progress.rollouts} rollouts, ${progress.steps} steps`);
    },
    onUpdate: ({ version, meanReturn, samples, warning, ms }) => {
      for (const text of updateLines({ version, meanReturn, samples, warning, ms }, plan, rollouts)) line.end(text);
    },
    onTrouble: ({ ordinal, reason }) => line.end(`batch ${ordinal} was not trained: ${reason}`),
    onEvaluation: (evaluated) => line.end(`version ${evaluated.version}: ${successText(evaluated)} on ${testedText(plan)}`),
  });
  line.end();
  return trained;
}

/** Describes a new version, and below it that its sampler was far from the trainer. */
export function updateLines(
  { version, meanReturn, samples, warning, ms }: Pick<TrainLoopResult, 'version' | 'meanReturn' | 'samples' | 'warning' | 'ms'>,
  { updates }: Pick<TrainPlan, 'updates'>,
  rollouts: number,
): readonly string[] {
  const trained = `version ${version} of ${updates}: ${samples} samples, mean return ${meanReturn.toFixed(3)}, ${ms.toFixed(0)} ms; ${rollouts} rollouts so far`;
  return warning === null ? [trained] : [trained, `version ${version}: ${warning}`];
}

/** Describes what a trainer elsewhere has to call, and when. */
function trainerText({ host, port }: Platform['config'], { policyId, by }: TrainPlan): Lines {
  const url = `http://${host}:${port}`;
  const leases = `${url}/v1/training/leases`;
  return [
    `batches of ${policyId} are planned here and trained by a program of yours:`,
    `  POST ${leases}  {"policyId": ${JSON.stringify(policyId)}, "consumer": "NAME", "ttlMs": 60000, "waitMs": 30000}`,
    `  GET  ${url} + the lease's "rows": the batch as safetensors`,
    `  POST ${leases}/LEASE/renew  {"fence": FENCE, "ttlMs": 60000}, before the lease ends`,
    `  POST ${leases}/LEASE/ack  {"fence": FENCE, "version": BASE + 1, "checkpointId": UUID, "weights": SHA256, "backend": "external"}`,
    `load the new weights into ${by} before you acknowledge them. \`espalier up\` serves that API; a whole trainer is`,
    `  python3 examples/trainer.py ${url} ${policyId}`,
  ];
}

/** Describes how it ended when it did not come to the version asked for. */
function endText({ state, message, version }: TrainedPolicy): string | null {
  switch (state) {
    case 'completed':
      return null;
    case 'stopped':
      return `stopped at version ${version}; continue with the same command and --resume`;
    case 'failed':
      return `failed: ${message}`;
    case 'tasks-used-up':
      return message;
    default:
      return state satisfies never;
  }
}

function testedText({ evaluation }: TrainPlan): string {
  const { split, trainedTasks } = evaluation ?? {};
  return `${split ?? 'all'} tasks${trainedTasks === 'allowed' ? ', trained ones too' : ''}`;
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
      meanReturn?.toFixed(3) ?? '–',
    ]);
    print(table(['version', 'success %', '95% over episodes', 'mean return'], rows));
    print();
  }
  print(writeLedger(ledger));
  print();
  const { estimator } = plan.settings.objective;
  print(`policy ${policyId} is at version ${version}, trained by ${estimator.name}; weights ${weights}`);
  if (trained.failures !== '' && trained.state !== 'failed') print(trained.failures);
  const end = endText(trained);
  if (end !== null) print(end);
}
