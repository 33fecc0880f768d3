import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { sha256Hex } from '../digest/sha256.ts';
import { isOptions, mergeOptions, type Options, setOption } from '../domain/experiment/change-options.ts';
import { canonicalJson } from '../events/canonical-json.ts';
import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import type { Declaration } from '../usecases/train/declaration/declaration-fields.ts';
import { parseDeclaration } from '../usecases/train/declaration/parse-declaration.ts';
import { isOwn, settingsOf } from '../usecases/train/declaration/trainer-of.ts';
import { planOfDeclaration, type TrainPlan, trainPlan } from '../usecases/train/train-plan.ts';
import type { TrainFlags } from './train-options.ts';

/** Makes the plan of a training out of the command line. @throws Error naming the option or the field of the declaration. */
export async function trainPlanOf(command: Command, flags: TrainFlags): Promise<TrainPlan> {
  const declaration = await declarationOf(command, flags);
  const { by, server } = flags;
  if (!isOwn(declaration.backend) && by === undefined)
    throw new Error('--backend external needs --by POLICY: what acts by the newest weights of your trainer, as openai:MODEL@URL');
  const plan = {
    ...runSettings(flags),
    settings: settingsOf(declaration),
    ...planOfDeclaration(declaration),
    ...(by === undefined ? {} : { by }),
    ...(server === undefined ? {} : { server }),
  };
  const digest = sha256Hex(canonicalJson(plan)).slice(0, 8);
  const estimator = flags.estimator ?? declaration.estimator.name;
  return trainPlan.parse({ policyId: flags.policy ?? `${declaration.backend}-${estimator}-${digest}`, ...plan });
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

/**
 * Makes the declaration of a training out of its file, its preset, the options that were typed and what `--set` says, each over the one
 * before. @throws Error naming the field or the option.
 */
async function declarationOf(command: Command, flags: TrainFlags): Promise<Declaration> {
  const typed = Object.entries(flags).filter(([name]) => command.getOptionValueSource(name) !== 'default');
  const given: Partial<TrainFlags> = Object.fromEntries(typed); // those with a default give way to a file or a preset
  const file = flags.declaration === undefined ? {} : await readDeclaration(flags.declaration);
  const backend = given.backend ?? file.backend ?? flags.backend;
  const named = mergeOptions(file, { ...fieldsOf(given, backend), backend });
  const seeded = flags.declaration === undefined ? { seed: flags.seed, ...named } : named;
  const parsed = parseDeclaration(flags.set.reduce(withSet, seeded));
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  return parsed.declaration;
}

async function readDeclaration(path: string): Promise<Options> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new Error(`--declaration: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isOptions(value)) return value;
  throw new Error(`--declaration: ${path} holds no JSON object; \`espalier schemas declaration\` shows every field`);
}

const BACKEND_OF = {
  model: 'torch',
  precision: 'torch',
  maxTokens: 'torch',
  server: 'torch',
  by: 'external',
  weights: 'external',
} as const;

/** The fields of a declaration that options name. @throws Error naming an option that means nothing to the backend. */
function fieldsOf(given: Partial<TrainFlags>, backend: unknown): Options {
  for (const [name, needed] of Object.entries(BACKEND_OF))
    if (needed !== backend && given[name as keyof typeof BACKEND_OF] !== undefined)
      throw new Error(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} goes with --backend ${needed}`);
  const { model, precision, maxTokens, learningRate, epochs, entropy, groups, rewards, staleness, estimator, loss } = given;
  const folder = model === undefined ? undefined : { kind: 'folder', path: resolve(model), precision };
  return some({
    preset: given.preset,
    estimator: estimator && estimatorOf(estimator, backend),
    loss: loss && { name: loss },
    weights: backend === 'external' ? (given.weights ?? sha256Hex(given.by ?? '')) : undefined,
    torch: some({ model: folder && some(folder), maxTokens }),
    optimiser: some({ learningRate, epochs, entropyCoefficient: entropy }),
    prompt: given.prompt && { mode: given.prompt },
    groupSize: given.group,
    rules: some({
      groupsPerBatch: groups,
      zeroVariance: given.keepZeroVariance ? 'keep' : undefined,
      rewards,
      maxStaleness: staleness,
    }),
    seed: given.seed,
  }) as Options; // the backend external has weights, and others may have nothing
}

/** What the registry calls an estimator; the linear policy learns by options of its own, which its worlds were measured with. */
function estimatorOf(name: string, backend: unknown): Options {
  const { estimator } = LINEAR_SETTINGS[name as keyof typeof LINEAR_SETTINGS]?.objective ?? { estimator: { name, options: {} } };
  return backend === 'linear' ? estimator : { name: estimator.name };
}

/** Sets a field of a declaration, as `kl.coefficient=0.01`; a value is JSON, or a string where it is none. */
function withSet(fields: Options, text: string): Options {
  const [, path, value] = /^([\w.]+)=(.*)$/s.exec(text) ?? [];
  if (path === undefined || value === undefined)
    throw new Error(`--set takes FIELD=VALUE, as kl.coefficient=0.01, not ${JSON.stringify(text)}`);
  try {
    return setOption(fields, path.split('.'), JSON.parse(value));
  } catch {
    return setOption(fields, path.split('.'), value);
  }
}

/** Leaves out what is undefined; undefined when nothing is left. */
function some(fields: Options): Options | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
