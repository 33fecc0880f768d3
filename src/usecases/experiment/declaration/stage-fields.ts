import { z } from 'zod';
import { BOOTSTRAP_DEFAULTS } from '../../../domain/evaluation/bootstrap-interval.ts';
import { THRESHOLD_DEFAULTS } from '../../../domain/revision/thresholds.ts';
import { SEARCH_DEFAULTS } from '../../../domain/search/next-search-step.ts';
import { name } from '../../../events/schemas/values.ts';
import { collectPlan } from '../../collect/plan.ts';
import type { RowFormat } from '../../datasets/rows/row-options.ts';
import { declarationFields } from '../../train/declaration/declaration-fields.ts';
import { promptFields } from '../../train/declaration/prompt-fields.ts';
import { trainPlan } from '../../train/train-plan.ts';

/**
 * What each kind of stage takes. Bounds are those of the plans that the options become; here are the defaults, as the commands
 * have them, and the words.
 */

const plan = collectPlan.shape;
const task = plan.tasks.element.shape;
const search = plan.search.unwrap().shape;
const evaluation = plan.evaluation.unwrap().shape;
const training = trainPlan.shape;
const { weights: _weights, kept: _kept, seed: _seed, ...declaration } = declarationFields.shape;

export const stageName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/i, 'must be a name of letters, digits and dashes, at most 64');
const used = z.strictObject({ of: stageName.describe('Name of the stage.') });
const policy = z.union([plan.policy.min(1), used], { error: 'must be a policy, such as planner, or {of: STAGE}' });
const aliases = z.array(z.string().max(500)).min(1).max(1_000_000);
const seed = z.int().min(0).optional().describe('Seed of the stage; left out, it follows from that of the repetition.');
const taskSeed = plan.taskSeed.default(0).describe('Seed of what the environment draws at reset.');
const environment = plan.environment
  .optional()
  .describe('Environment, as `--environment` takes it; left out, that of the experiment.');

const acting = {
  environment,
  policy: policy.describe('Policy that acts, as `--policy` takes it; or `{of: STAGE}`, that which a stage trained.'),
  tasks: z
    .union([z.literal('all'), z.int().min(1), aliases], { error: 'must be a number of tasks, a list of aliases, or all' })
    .optional()
    .describe('How many tasks, spread over the depths; or a list of aliases; or `all`.'),
  split: name.optional().describe('Only tasks of this split.'),
  temperature: plan.temperature.default(1).describe('Sampling temperature.'),
  prompt: promptFields.optional().describe("Prompts worded by a template; left out, the environment's own chat."),
  taskSeed,
  seed,
};
const maxSteps = plan.maxSteps.default(30).describe('Steps after which a rollout is truncated.');
const is = <Kind extends string>(kind: Kind) => z.literal(kind).describe(`\`${kind}\`; may be left out of a stage of that name.`);

const collectStage = z.strictObject({
  stage: is('collect'),
  ...acting,
  rollouts: task.rollouts.default(8).describe('Rollouts per task.'),
  branching: task.branching.default('root').describe('Where rollouts start: all at the root, or anywhere in the tree.'),
  maxSteps,
});

const searchStage = z.strictObject({
  stage: is('search'),
  ...acting,
  iterations: search.iterations.default(SEARCH_DEFAULTS.iterations).describe('Walks from the root.'),
  candidates: search.candidates.default(SEARCH_DEFAULTS.candidates).describe('Replies asked for at each node.'),
  maxDepth: search.maxDepth.default(SEARCH_DEFAULTS.maxDepth).describe('A path has at most this many actions and one more.'),
  exploration: search.exploration.default(SEARCH_DEFAULTS.exploration).describe('Constant of UCT.'),
  compat: z.literal('agent-r').optional().describe('Search by the rules of the published Agent-R.'),
  maxTokenLength: search.compat
    .unwrap()
    .shape.maxTokenLength.optional()
    .describe('`compat`: its MAX_TOKEN_LENGTH; null for none.'),
  maxSteps,
});

const threshold = z.number().min(0).max(1);
const reviseStage = z.strictObject({
  stage: is('revise'),
  of: stageName.describe('Stage that collected or searched the trees.'),
  alpha: threshold.default(THRESHOLD_DEFAULTS.alpha).describe('What a good trajectory must reach, above 0.'),
  beta: threshold.default(THRESHOLD_DEFAULTS.beta).describe('By how much it must be better than the bad one.'),
  judge: z.string().min(1).max(2_000).default('planner').describe('Who finds the first error, as `--judge` takes it.'),
  verify: z.boolean().default(true).describe('Whether every revision is executed.'),
  signal: z
    .enum(['thought', 'turn'])
    .default('thought')
    .describe('Where the reflection lies: in the first good reply, or its own turn.'),
  unparsed: z.enum(['continue', 'stop']).default('continue').describe('What follows a reply of the judge without a verdict.'),
  beforeBranch: z.enum(['clamp', 'drop']).default('clamp').describe('What becomes of an error in a step that both share.'),
  seed,
});

/** Formats that a release is trained from; preferences (dpo) are not made of good trajectories. */
const TRAIN_FORMATS = ['agent-r', 'xtuner', 'sharegpt', 'openai', 'trl'] as const satisfies readonly RowFormat['kind'][];

const releaseStage = z.strictObject({
  stage: is('release'),
  of: stageName.describe('Stage that revised, collected or searched what is released.'),
  data: z
    .enum(['good', 'revisions', 'both'])
    .optional()
    .describe('Good trajectories, revisions, or both; left out, both where `of` revised and else the good ones.'),
  alpha: threshold.optional().describe('What a good trajectory must reach; left out, as where `of` revised, else 0.5.'),
  format: z.enum(TRAIN_FORMATS).default('openai').describe('Format of the file; `train` clones from `openai`.'),
  state: z.enum(['verified', 'composed']).default('verified').describe('Whether revisions that nobody executed are taken too.'),
  perTask: z.int().min(1).default(8).describe('Most good trajectories, and revisions, of one task.'),
});

const command = {
  command: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe('A program that trains instead, a line for the shell; the guide to experiments says what it is given.'),
  timeout: z.int().min(1).max(1_000_000).default(86_400).describe('How long the program may take, in seconds.'),
};
const learningRate = z.number().gt(0).max(100).default(0.05).describe('Of the cloning.');

/** Training on a released file. */
const cloneStage = z.strictObject({
  stage: is('train'),
  on: stageName.describe('Stage that released the file: it is cloned. Left out, the policy is trained by its rewards.'),
  environment,
  from: policy.default('linear').describe('Policy that the training goes on from; or `{of: STAGE}`.'),
  epochs: z.int().min(1).max(1_000).default(3).describe('Over the file.'),
  learningRate,
  ...command,
  taskSeed,
  seed,
});

const byName = <Method extends z.ZodType>(method: Method) =>
  z.preprocess((value) => (typeof value === 'string' ? { name: value } : value), method);

/** Training by rewards: a declaration of training, and what its plan says besides. */
const trainStage = z.strictObject({
  stage: is('train'),
  environment,
  split: name.nullable().default('train').describe('Split of the tasks that are trained on; null for every task.'),
  tasks: training.tasks.default(null).describe('How many tasks of it, spread over the depths; null for all.'),
  updates: training.updates.default(12).describe('Batches to train: the last version.'),
  temperature: training.temperature.default(1).describe('Sampling temperature.'),
  maxSteps: training.maxSteps.default(20).describe('Steps of a rollout.'),
  by: training.by.describe('Policy that acts by the newest weights of a trainer elsewhere.'),
  server: training.server.describe('Model server that the versions of a language model act by; left out, our own.'),
  ...declaration,
  backend: name.default('linear').describe('What computes updates: `linear`, `torch`, or a trainer elsewhere.'),
  estimator: byName(declaration.estimator).describe('Estimator of the advantages, by its name or with options.'),
  loss: byName(declaration.loss).describe('Policy loss, by its name or with options.'),
  taskSeed,
  seed,
});

const evaluateStage = z.strictObject({
  stage: is('evaluate'),
  ...acting,
  rollouts: task.rollouts.default(1).describe('Episodes per task.'),
  maxSteps: plan.maxSteps.default(100).describe('Steps after which an episode is cut off.'),
  resamples: evaluation.resamples.default(BOOTSTRAP_DEFAULTS.resamples).describe('Resamples of its own intervals.'),
});

/** The schemas by kind; `train` has two, by whether it names a released file. */
export const STAGE_FIELDS = {
  collect: collectStage,
  search: searchStage,
  revise: reviseStage,
  release: releaseStage,
  train: trainStage,
  clone: cloneStage,
  evaluate: evaluateStage,
} as const;

export type StageKind = Exclude<keyof typeof STAGE_FIELDS, 'clone'>;
export const STAGE_KINDS = Object.keys(STAGE_FIELDS).filter((form): form is StageKind => form !== 'clone');
/** The options of a stage that were checked, defaults filled in. `clone` is training on a released file. */
export type OptionsOf<Form extends keyof typeof STAGE_FIELDS> = z.output<(typeof STAGE_FIELDS)[Form]>;
