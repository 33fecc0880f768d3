import { z } from 'zod';
import { AGGREGATION_MODES } from '../../../domain/training/losses/policy-loss.ts';
import { planRules } from '../../../events/schemas/training.ts';
import { blobRef, name, sha256 } from '../../../events/schemas/values.ts';
import { torchPlan } from '../../../training/backends/torch/torch-plan.ts';
import {
  correctionSettings,
  criticSettings,
  klSettings,
  method,
  mismatchSettings,
  optimiserFields,
  processRewardSettings,
} from '../../../training/backends/training-settings.ts';
import { promptFields } from './prompt-fields.ts';

/** The published recipes by name. */
export const PRESET_NAMES = [
  'agentocr-grpo',
  'agent-r1-grpo',
  'agent-r1-ppo',
  'agent-r1-reinforce++',
  'agent-r1-rloo',
  'agent-r1-remax',
  'agent-r1-gigpo',
] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

// said elsewhere in a declaration: the estimator needs a critic or none, and the others go with every backend
const { critic: _critic, weightDecay, aggregation: _aggregation, tokenBudget: _tokenBudget, ...torch } = torchPlan.shape;

const rate = optimiserFields;

/**
 * How a policy is trained, whatever holds its weights: the body of `PUT /v1/training/policies/{id}` and the file of `espalier
 * train --declaration`. What is left out comes from the preset, then from the backend.
 */
export const declarationFields = z.strictObject({
  preset: z
    .enum(PRESET_NAMES)
    .optional()
    .describe('Published recipe, whose values are taken where this declaration names none of its own.'),
  backend: name
    .default('external')
    .describe(
      'What computes updates: `linear` and `torch` are trained by Espalier; `external`, or any other name, is a trainer elsewhere that leases batches.',
    ),
  weights: sha256
    .optional()
    .describe(
      'SHA-256 of the first weights in lower-case hex. Left out, `linear` and `torch` make version 0 from the seed of the policy; of a trainer elsewhere it is registered later.',
    ),
  kept: blobRef
    .nullable()
    .optional()
    .describe('Where the first weights are in the blob store of the server; null where the trainer has them.'),
  torch: z
    .strictObject(torch)
    .optional()
    .describe('Backend `torch`: the model that is trained, and what of the engine determines its numbers.'),
  estimator: method.optional().describe('Estimator that computes the advantages; `grpo` when left out.'),
  loss: method.optional().describe('Policy loss that is minimised; left out, `linear` and `torch` take `dual_clip`.'),
  aggregation: z.enum(AGGREGATION_MODES).optional().describe("How token losses become one number; left out, a token's mean."),
  lossScale: z
    .number()
    .gt(0)
    .optional()
    .describe('What `seq-mean-token-sum-norm` divides by, and needs: one number for the whole training.'),
  kl: klSettings.nullable().optional().describe('Penalty on leaving version 0; null for none.'),
  correction: correctionSettings
    .nullable()
    .optional()
    .describe('Correction of tokens that an engine or an older version drew by other log-probabilities; null for none.'),
  mismatch: mismatchSettings
    .optional()
    .describe(
      'How far recorded log-probabilities may be from those that the trainer computes, as mean k3 over the tokens of the trained version.',
    ),
  processRewards: processRewardSettings
    .nullable()
    .optional()
    .describe('Rewards of single steps apart from the outcome; null for none.'),
  critic: criticSettings.partial().optional().describe('Critic of an estimator that needs values.'),
  optimiser: z
    .strictObject({
      kind: rate.kind.optional(),
      learningRate: rate.learningRate.optional(),
      weightDecay: weightDecay.unwrap().optional().describe('Weight decay of AdamW, for the backend `torch`.'),
      epochs: rate.epochs.optional(),
      miniBatch: rate.miniBatch.optional(),
      clipNorm: rate.clipNorm.optional(),
      entropyCoefficient: rate.entropyCoefficient.optional(),
    })
    .optional()
    .describe('How gradients become steps.'),
  prompt: promptFields.optional().describe('How the policy is asked at each step; left out, collectors choose.'),
  groupSize: z
    .int()
    .min(1)
    .max(5_000)
    .optional()
    .describe('Rollouts of a group that `espalier train` collects; a collector elsewhere plans its own (`plannedRollouts`).'),
  rules: planRules.partial().optional().describe('Rules by which batches are planned, where they differ from the usual ones.'),
  seed: z.int().optional().describe('Seed of the order of groups in batches; 1 when left out.'),
});

/** What is sent or written in a file, with its shape checked. */
export type DeclarationFields = z.output<typeof declarationFields>;

/** A declaration whose preset is filled in and whose parts go together. */
export interface Declaration extends DeclarationFields {
  readonly estimator: NonNullable<DeclarationFields['estimator']>;
  readonly rules: NonNullable<DeclarationFields['rules']>;
  readonly seed: number;
}
