import type { Command } from 'commander';
import type { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { canonicalJson } from '../events/canonical-json.ts';
import { isOwn, settingsOf, usualZeroVariance } from '../usecases/train/declaration/trainer-of.ts';
import { planOfDeclaration, type TrainPlan, trainPlan } from '../usecases/train/train-plan.ts';
import { computationOf } from './computation-flags.ts';
import { declarationOf, isDeclared, refuseOthers } from './declared-training.ts';
import { promptFieldsOf } from './prompt-flags.ts';
import { LINEAR_DEFAULTS, type TrainFlags } from './train-options.ts';

/** What a plan says of how the policy learns. */
type LearningFields = Omit<z.input<typeof trainPlan>, 'policyId' | keyof ReturnType<typeof runSettings>>;

/** Makes the plan of a training out of the command line. @throws Error naming the option or the field of the declaration. */
export async function trainPlanOf(command: Command, flags: TrainFlags): Promise<TrainPlan> {
  const given = givenOf(command, flags);
  const plan = { ...runSettings(flags), ...(isDeclared(flags) ? await declared(flags, given) : linear(flags, given)) };
  const digest = sha256Hex(canonicalJson(plan)).slice(0, 8);
  const estimator = isDeclared(flags) ? plan.settings.objective.estimator.name : flags.estimator;
  const backend = plan.declaration?.backend ?? 'linear';
  return trainPlan.parse({ policyId: flags.policy ?? `${backend}-${estimator}-${digest}`, ...plan });
}

/** What a plan says besides how the policy learns. */
function runSettings(flags: TrainFlags) {
  const { environment, updates, temperature, maxSteps, seed, testTasks: tasks } = flags;
  const named = (split: string) => (split === 'all' ? null : split);
  const measured = { split: named(flags.testSplit), tasks, rollouts: flags.rollouts, every: flags.every ?? updates };
  return {
    environment,
    split: named(flags.split),
    tasks: flags.tasks ?? null,
    updates,
    temperature,
    maxSteps,
    seed,
    taskSeed: 0,
    evaluation: tasks === 0 ? null : { ...measured, ...(flags.testOnTrained ? { trainedTasks: 'allowed' as const } : {}) },
  };
}

function linear(flags: TrainFlags, given: Partial<TrainFlags>): LearningFields {
  refuseOthers(given, 'linear');
  promptFieldsOf(given, undefined); // refuses those that mean nothing without --prompt
  const { learningRate, epochs, entropy } = { ...LINEAR_DEFAULTS, ...defined(flags) };
  return {
    settings: { ...computationOf(flags), learningRate, epochs, entropyCoefficient: entropy },
    groupsPerBatch: flags.groups,
    groupSize: flags.group,
    zeroVariance: flags.keepZeroVariance ? 'keep' : usualZeroVariance({ name: flags.estimator, options: {} }),
    ...(flags.rewards === undefined ? {} : { rewards: flags.rewards }),
    mode: flags.staleness === 0 ? 'strict' : 'bounded',
    maxStaleness: flags.staleness,
  };
}

async function declared(flags: TrainFlags, given: Partial<TrainFlags>): Promise<LearningFields> {
  const declaration = await declarationOf(flags, given);
  const { by, server } = flags;
  if (!isOwn(declaration.backend) && by === undefined)
    throw new Error('--backend external needs --by POLICY: what acts by the newest weights of your trainer, as openai:MODEL@URL');
  return {
    settings: settingsOf(declaration),
    ...planOfDeclaration(declaration),
    ...(by === undefined ? {} : { by }),
    ...(server === undefined ? {} : { server }),
  };
}

/** The options that were typed: those with a default give way to a file or a preset. */
function givenOf(command: Command, flags: TrainFlags): Partial<TrainFlags> {
  const typed = Object.entries(flags).filter(([name]) => command.getOptionValueSource(name) !== 'default');
  return Object.fromEntries(typed);
}

function defined({ learningRate, epochs, entropy }: TrainFlags): Partial<typeof LINEAR_DEFAULTS> {
  const given = Object.entries({ learningRate, epochs, entropy }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}
