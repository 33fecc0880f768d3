import { z } from 'zod';
import { AGGREGATION_MODES } from '../../../domain/training/losses/aggregation.ts';

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
  tokenBudget: size.default(16_384),
  maxTokens: size
    .optional()
    .describe('Longest reply of the policy when it acts, in tokens; left out, what its context holds behind the prompt.'),
  rows: z
    .enum(['merged', 'step'])
    .optional()
    .describe('Whether steps whose prompts continue are computed as one sequence (left out means that), or each by itself.'),
});
export type TorchPlan = z.infer<typeof torchPlan>;
