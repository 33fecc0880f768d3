import { join } from 'node:path';
import { z } from 'zod';
import { AGGREGATION_MODES } from '../../../domain/training/losses/policy-loss.ts';
import type { Config } from '../../../runtime/config.ts';

/** Tokens of a micro-batch where nothing is said. */
export const TOKEN_BUDGET = 16_384;

const size = z.int().min(1).max(1_000_000);

/**
 * What of the torch backend determines its numbers, as it is declared with a training; where Python and the checkpoints lie is
 * each machine's own.
 */
export const torchPlan = z.strictObject({
  model: z
    .discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('tiny').describe('`tiny`: a model of random weights over bytes, for tests.'),
        layers: size.describe('Its layers.'),
        width: size.describe('Width of its hidden states.'),
        heads: size.describe('Heads of its attention.'),
        context: size.describe('Most tokens of a row.'),
      }),
      z.strictObject({
        kind: z.literal('folder').describe('`folder`: a folder that transformers opens.'),
        path: z.string().min(1).max(4_000).describe('The folder.'),
        precision: z.enum(['float32', 'bfloat16']).default('float32').describe('Type of the weights in the computation.'),
      }),
    ])
    .describe('The model that is trained: its first weights.'),
  critic: z.boolean().default(false),
  lora: z
    .strictObject({
      rank: z.int().min(1).max(4_096).describe('Rank of the adapters.'),
      alpha: z.number().positive().optional().describe('Scale of the adapters, divided by the rank.'),
      targets: z
        .union([z.literal('all-linear'), z.array(z.string().min(1)).min(1)])
        .optional()
        .describe('Modules that have adapters, by name; `all-linear`: every linear one.'),
    })
    .optional()
    .describe('Trains adapters by peft, and leaves the weights of the model as they are.'),
  checkpointing: z
    .boolean()
    .optional()
    .describe(
      'Whether activations are computed again in the backward pass, to save memory; left out, where several processes compute in bfloat16.',
    ),
  processes: z.int().min(1).max(1_024).optional().describe('Processes that share the weights (FSDP2); one when left out.'),
  weightDecay: z.number().min(0).max(1).default(0),
  oldLogProbs: z
    .enum(['recomputed', 'recorded'])
    .default('recomputed')
    .describe('Whether the log-probabilities before an update are computed again, or taken from the record.'),
  newLogProbs: z
    .enum(['recorded', 'skipped'])
    .optional()
    .describe('Whether a pass after each update records the log-probabilities by the new weights; left out, it does.'),
  aggregation: z.enum(AGGREGATION_MODES).default('token-mean'),
  tokenBudget: size.default(TOKEN_BUDGET),
  maxTokens: size
    .optional()
    .describe('Longest reply of the policy when it acts, in tokens; left out, what its context holds behind the prompt.'),
  rows: z
    .enum(['merged', 'step'])
    .optional()
    .describe('Whether steps whose prompts continue are computed as one sequence (left out means that), or each by itself.'),
});
export type TorchPlan = z.infer<typeof torchPlan>;

/** What of a torch backend is declared, with its defaults left out, and what is the machine's own. */
export interface TorchOptions extends z.input<typeof torchPlan> {
  /** The interpreter, with torch installed (and transformers for a folder). */
  readonly python: string;
  /** Where checkpoints are kept, each a folder that a model server loads. */
  readonly folder: string;
  /** CUDA where there is one, by default. */
  readonly device?: 'cpu' | 'cuda';
  /** Of torch's own pool: sums depend on it, so it is fixed for equal bytes. */
  readonly threads?: number;
  /** How long one update may take. */
  readonly updateMs?: number;
}

/** Returns the folder in which the checkpoints of the torch backend lie, each under its digest. */
export function torchFolder({ home }: Pick<Config, 'home'>): string {
  return join(home, 'checkpoints');
}
