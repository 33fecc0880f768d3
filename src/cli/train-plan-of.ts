import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { sha256Hex } from '../digest/sha256.ts';
import { isOptions, mergeOptions, type Options, optionAt, setOption } from '../domain/experiment/change-options.ts';
import { ESTIMATORS } from '../domain/training/advantages/estimators.ts';
import { POLICY_LOSSES } from '../domain/training/losses/policy-losses.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { canonicalJson } from '../events/canonical-json.ts';
import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import { SERVER_FORMS } from '../training/servers/open-model-server.ts';
import { type Declaration, PRESET_NAMES, type PresetName } from '../usecases/train/declaration/declaration-fields.ts';
import { parseDeclaration } from '../usecases/train/declaration/parse-declaration.ts';
import { partsBelow } from '../usecases/train/declaration/presets.ts';
import { isOwn, settingsOf } from '../usecases/train/declaration/trainer-of.ts';
import { planOfDeclaration, type TrainPlan, trainPlan } from '../usecases/train/train-plan.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';

export interface TrainFlags {
  readonly policy?: string;
  readonly backend: 'linear' | 'torch' | 'external';
  readonly model?: string;
  readonly precision?: 'float32' | 'bfloat16';
  readonly maxTokens?: number;
  readonly server?: string;
  readonly by?: string;
  readonly weights?: string;
  readonly preset?: PresetName;
  readonly declaration?: string;
  readonly set: readonly string[];
  readonly estimator?: string;
  readonly loss?: string;
  readonly prompt?: 'text' | 'image';
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
  readonly learningRate?: number;
  readonly epochs?: number;
  readonly entropy?: number;
  readonly seed: number;
  readonly testSplit: string;
  readonly testTasks: number;
  readonly testOnTrained?: true;
  readonly rollouts: number;
  readonly every?: number;
  readonly resume?: true;
}

/** The estimators by the names of the papers, under which the linear policy has options of its own, and by those of their registry. */
const ESTIMATOR_NAMES = [...new Set([...Object.keys(LINEAR_SETTINGS), ...Object.keys(ESTIMATORS)])];

/** The options of `espalier train`. */
export function addTrainOptions(command: Command): void {
  command
    .option('--policy <name>', 'the name of the policy (default: derived from the options)')
    .addOption(
      new Option('--backend <name>', 'what trains: the linear policy, a language model by torch, or a trainer of your own')
        .choices(['linear', 'torch', 'external'])
        .default('linear'),
    )
    .option('--model <folder>', 'torch: the folder of a transformers model with its tokenizer')
    .addOption(new Option('--precision <name>', 'torch: the precision (default: float32)').choices(['float32', 'bfloat16']))
    .option(
      '--max-tokens <n>',
      'torch: maximum tokens of a reply (default: the rest of the context)',
      wholeNumber('--max-tokens', 1),
    )
    .option('--server <name>', `torch: the model server of its versions: ${SERVER_FORMS}(default: own)`)
    .option('--by <policy>', 'external: the policy that serves the newest weights of your trainer, as openai:MODEL@URL')
    .option('--weights <sha256>', 'external: SHA-256 of the first weights (default: of --by)')
    .addOption(new Option('--preset <name>', 'a published recipe; other options override it').choices([...PRESET_NAMES]))
    .option('--declaration <file>', 'how the policy is trained, as JSON: `espalier schemas declaration` shows every field')
    .option(
      '--set <field=value>',
      'any field of the declaration, over what else declares it, as kl.coefficient=0.01 or torch.lora.rank=16; repeatable',
      (text: string, all: readonly string[]) => [...all, text],
      [],
    )
    .addOption(new Option('--estimator <name>', 'the estimator of advantages (default: grpo)').choices(ESTIMATOR_NAMES))
    .addOption(new Option('--loss <name>', 'the policy loss (default: dual_clip)').choices(Object.keys(POLICY_LOSSES)))
    .addOption(
      new Option(
        '--prompt <mode>',
        "word the prompts by a template, the past as text or as an image; else the environment's own chat",
      ).choices(['text', 'image']),
    )
    .option('--environment <name>', ENVIRONMENT_FORMS, 'textcraft')
    .option('--updates <n>', 'batches to train, which is the last version', wholeNumber('--updates', 1, 100_000), 12)
    .option(
      '--tasks <n>',
      'number of tasks to train on, spread over the depths (default: all of the split)',
      wholeNumber('--tasks', 1),
    )
    .option('--split <name>', 'split of the tasks to train on, or "all"', 'train')
    .option('--groups <n>', 'groups per batch', wholeNumber('--groups', 1, 5_000), 8)
    .option('--group <n>', 'rollouts per group', wholeNumber('--group', 1, 5_000), 8)
    .option(
      '--rewards <list>',
      'reward components to train on with their weights, as environment=1,answer-f1=0.1 (default: environment)',
      rewardWeights,
    )
    .option('--keep-zero-variance', 'also train on groups whose rollouts have equal rewards')
    .option(
      '--staleness <n>',
      'maximum version lag of collected steps; 0 is strictly on-policy',
      wholeNumber('--staleness', 0, 1_000),
      0,
    )
    .option('--temperature <t>', 'of the policy', numberBetween('--temperature', 0.01, 100), 1)
    .option('--max-steps <n>', 'steps of a rollout', wholeNumber('--max-steps', 1, 10_000), 20)
    .option(
      '--learning-rate <r>',
      `of Adam; left out, ${LINEAR_SETTINGS.grpo.learningRate} for the linear policy and 1e-6 for a language model`,
      numberBetween('--learning-rate', 1e-9, 100),
    )
    .option(
      '--epochs <n>',
      `over each batch; left out, ${LINEAR_SETTINGS.grpo.epochs} for the linear policy and 1 for a language model`,
      wholeNumber('--epochs', 1, 100),
    )
    .option('--entropy <c>', 'coefficient of the entropy bonus (default: none)', numberBetween('--entropy', 0, 100))
    .option('--seed <n>', 'of tasks, rollouts and mini-batches', wholeNumber('--seed', 0), 1)
    .option('--test-split <name>', 'split of the tasks to measure on, or "all"', 'test')
    .option('--test-tasks <n>', 'number of tasks to measure on; 0 for none', wholeNumber('--test-tasks', 0), 25)
    .option('--test-on-trained', 'allow measuring on trained tasks')
    .option('--rollouts <n>', 'episodes per test task', wholeNumber('--rollouts', 1), 4)
    .option('--every <n>', 'also measure every n-th version, not only the first and the last', wholeNumber('--every', 1))
    .option('--resume', 'continue a policy of the same options');
}

/** Makes the plan of a training out of the command line. @throws Error naming the option or the field of the declaration. */
export async function trainPlanOf(command: Command, flags: TrainFlags): Promise<TrainPlan> {
  const declaration = await declarationOf(command, flags);
  const { by, server } = flags;
  if (!isOwn(declaration.backend) && by === undefined)
    throw new Error('--backend external needs --by POLICY: what acts by the newest weights of your trainer, as openai:MODEL@URL');
  const plan = {
    ...runSettings(flags, declaration),
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
function runSettings(flags: TrainFlags, { seed }: Declaration) {
  const { environment, updates, temperature, maxSteps, testTasks: tasks } = flags;
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
  const overrides: Partial<TrainFlags> = Object.fromEntries(typed); // those with a default give way to a file or a preset
  const file = flags.declaration === undefined ? {} : await readDeclaration(flags.declaration);
  const changes = flags.set.map(changeOf);
  const set = changes.reduce<Options>((fields, { path, value }) => setOption(fields, path, value), {});
  const backend = set.backend ?? overrides.backend ?? file.backend ?? flags.backend;
  const named = mergeOptions(file, { ...fieldsOf(overrides, backend), backend });
  const seeded = flags.declaration === undefined ? { seed: flags.seed, ...named } : named;
  const parsed = parseDeclaration(withChanges(seeded, changes));
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
function fieldsOf(overrides: Partial<TrainFlags>, backend: unknown): Options {
  for (const [name, needed] of Object.entries(BACKEND_OF))
    if (needed !== backend && overrides[name as keyof typeof BACKEND_OF] !== undefined)
      throw new Error(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} goes with --backend ${needed}`);
  const { model, precision, maxTokens, learningRate, epochs, entropy, groups, rewards, staleness, estimator, loss } = overrides;
  const folder = model === undefined ? undefined : { kind: 'folder', path: resolve(model), precision };
  return some({
    preset: overrides.preset,
    estimator: estimator && estimatorOf(estimator, backend),
    loss: loss && { name: loss },
    weights: backend === 'external' ? (overrides.weights ?? sha256Hex(overrides.by ?? '')) : undefined,
    torch: some({ model: folder && some(folder), maxTokens }),
    optimiser: some({ learningRate, epochs, entropyCoefficient: entropy }),
    prompt: overrides.prompt && { mode: overrides.prompt },
    groupSize: overrides.group,
    rules: some({
      groupsPerBatch: groups,
      zeroVariance: overrides.keepZeroVariance ? 'keep' : undefined,
      rewards,
      maxStaleness: staleness,
    }),
    seed: overrides.seed,
  }) as Options; // the backend external has weights, and others may have nothing
}

/** What the registry calls an estimator; the linear policy learns by options of its own, which its worlds were measured with. */
function estimatorOf(name: string, backend: unknown): Options {
  const { estimator } = LINEAR_SETTINGS[name as keyof typeof LINEAR_SETTINGS]?.objective ?? { estimator: { name, options: {} } };
  return backend === 'linear' ? estimator : { name: estimator.name };
}

/** One `--set FIELD=VALUE`. */
interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Reads `kl.coefficient=0.01`; a value is JSON, or a string where it is none. @throws Error for another form. */
function changeOf(text: string): Change {
  const [, path, value] = /^([\w.-]+)=(.*)$/s.exec(text) ?? [];
  if (path === undefined || value === undefined)
    throw new Error(`--set takes FIELD=VALUE, as kl.coefficient=0.01, not ${JSON.stringify(text)}`);
  try {
    return { path: path.split('.'), value: JSON.parse(value) };
  } catch {
    return { path: path.split('.'), value };
  }
}

/** What tells which fields its part has: another one takes the place of the whole part. */
const DISCRIMINATORS: readonly string[] = ['estimator.name', 'loss.name', 'prompt.mode', 'torch.model.kind', 'rules.group.kind'];

/** Changes a declaration, each part on top of what the declaration, its preset and the defaults say of it. */
function withChanges(declared: Options, changes: readonly Change[]): Options {
  const chosen = changes
    .filter(({ path }) => DISCRIMINATORS.includes(path.join('.')))
    .reduce((fields, { path, value }) => mergeOptions(fields, setOption({}, path, value)), declared);
  const apply = (fields: Options) => changes.reduce((all, { path, value }) => setOption(all, path, value), fields);
  const changed = apply(chosen);
  const below = partsBelow(
    PRESET_NAMES.find((name) => name === changed.preset),
    optionAt(changed, ['rules', 'metric']),
  );
  const adjusted = below.filter(
    ([part]) => !isOptions(optionAt(chosen, part)) && changes.some(({ path }) => isWithin(path, part)),
  );
  return apply(adjusted.reduce((fields, [part, value]) => setOption(fields, part, value), chosen));
}

/** Whether a path names something below a part. */
function isWithin(path: readonly string[], part: readonly string[]): boolean {
  return path.length > part.length && part.every((name, index) => path[index] === name);
}

/** Leaves out what is undefined; undefined when nothing is left. */
function some(fields: Options): Options | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Reads `component=weight,…`. @throws which names the part that is wrong. */
export function rewardWeights(text: string): Readonly<Record<string, number>> {
  const weights = new Map<string, number>();
  for (const part of text.split(',')) {
    const [component = '', given = '', ...rest] = part.split('=').map((each) => each.trim());
    if (component === '' || rest.length > 0 || weights.has(component))
      throw new Error(
        `--rewards takes component=weight, each component once, as environment=1,answer-f1=0.1, not ${JSON.stringify(part)}`,
      );
    weights.set(component, numberBetween(`--rewards ${component}`, -1e6, 1e6)(given));
  }
  return Object.fromEntries(weights);
}
