import { z } from 'zod';
import { name } from '../../../events/schemas/values.ts';
import { collectPlan } from '../../collect/plan.ts';
import { promptFields } from '../../train/declaration/prompt-fields.ts';

// Options that several kinds of stages take. Bounds are those of the plans that the options become; here are the defaults, as the
// commands have them, and the words.

const plan = collectPlan.shape;

export const stageName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/i, 'must be a name of letters, digits and dashes, at most 64');
const used = z.strictObject({ of: stageName.describe('Name of the stage.') });
export const policy = z.union([plan.policy.min(1), used], { error: 'must be a policy, such as planner, or {of: STAGE}' });
const aliases = z.array(z.string().max(500)).min(1).max(1_000_000);
export const seed = z.int().min(0).optional().describe('Seed of the stage; left out, it follows from that of the repetition.');
export const taskSeed = plan.taskSeed.default(0).describe('Seed of what the environment draws at reset.');
export const environment = plan.environment
  .optional()
  .describe('Environment, as `--environment` takes it; left out, that of the experiment.');
export const threshold = z.number().min(0).max(1);

/** Options of the kinds that act. */
export const acting = {
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
export const is = <Kind extends string>(kind: Kind) =>
  z.literal(kind).describe(`\`${kind}\`; may be left out of a stage of that name.`);
