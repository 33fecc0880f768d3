import { z } from 'zod';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import { blobRef, count, counter, eventData, finite, id, json, name, policyId, rolloutId, sha256, treeId } from './values.ts';

/** All versions of one policy, which are one stream: `lineageId` is `derivedId('lineage', policyId)`. */
export const lineage = {
  lineageId: id.describe('UUID of the lineage, the stream of all versions of the policy, derived from `policyId`.'),
  policyId: policyId.describe('Name of the policy that is trained.'),
} as const;
export const batchId = id.describe('UUID of the batch, derived from the lineage and the ordinal.');
export const batchOrdinal = count.describe('Number of the batch in its lineage, from 0.');
const checkpointId = id.describe('UUID of the checkpoint.');

/**
 * How advantages or losses are computed: the function, its revision, and what was chosen of it. "PPO" alone names no computation.
 */
export const method = z.strictObject({
  name: name.describe('Name of the computation, for example `grpo`.'),
  revision: name.describe('Revision of the computation, which changes when its results change.'),
  mode: json.describe('Options of the computation, as free-form JSON.'),
});
export type Method = z.infer<typeof method>;

/**
 * What the rollouts of a run are for. Only `train` feeds batches; `baseline` holds the greedy siblings that ReMax subtracts;
 * `validation` and `held-out` never meet a trainer.
 */
export const CHANNELS = ['train', 'baseline', 'validation', 'held-out'] as const;

/**
 * The part `training` of a run's configuration that puts its rollouts into the pool of a policy; a plan may say more besides.
 */
export const trainingChannel = z.object({ policyId, channel: z.enum(CHANNELS) });

/** Recorded whole: no rule has a default that could change under a record. */
export const planRules = z.strictObject({
  groupsPerBatch: z.int().min(1).max(5_000).describe('Number of groups in each batch.'),
  group: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('all').describe('`all`: every planned member must be fit for training.') }),
      z.strictObject({
        kind: z.literal('at-least').describe('`at-least`: a given number of fit members is enough.'),
        members: z.int().min(1).max(100_000).describe('Least number of fit members, for `at-least`.'),
      }),
      z.strictObject({
        kind: z
          .literal('replace-failed')
          .describe('`replace-failed`: as many fit members as were planned, with further rollouts in place of failed ones.'),
      }),
    ])
    .describe('Condition under which a closed group is trained on.'),
  maxStaleness: count
    .nullable()
    .describe('Most versions between the oldest token of a sample and the version that is trained; null for no limit.'),
  offPolicy: z
    .enum(['any', 'log-probs'])
    .describe('What a sample of an older version must have: the log-probability of every token, or nothing.'),
  metric: name.describe('Reward component by which groups are filtered.'),
  /** Every declaration of today names its components; older ones have none, and mean the sum of all. */
  rewards: z
    .record(name, finite)
    .optional() // `declareTraining` refuses one without a weight of the metric: a JSON Schema cannot say it
    .describe('Weights by reward component that is trained on; absent: the sum of all components.'),
  unscored: z
    .enum(['wait', 'reject'])
    .describe('Whether a member without a trained reward is rejected, or its group waits for that.'),
  zeroVariance: z
    .enum(['reject', 'keep'])
    .describe('Whether a group whose members are all trained on the same reward is rejected or kept.'),
  band: z
    .strictObject({
      low: finite.describe('Least mean of the metric.'),
      high: finite.describe('Greatest mean of the metric.'),
    })
    .nullable()
    .describe('Range of the mean metric outside of which a group is rejected; null for no limit.'),
  truncated: z.enum(['keep', 'reject']).describe('Whether rollouts that a limit ended are kept or rejected.'),
  unclear: z
    .enum(['keep', 'reject'])
    .optional()
    .describe(
      'Whether rollouts whose captured calls are unclear or could not be read whole are kept or rejected; absent for rejected.',
    ),
  unknownSampling: z
    .enum(['keep', 'reject'])
    .optional()
    .describe('Whether rollouts whose record leaves open how they were sampled are kept or rejected; absent for rejected.'),
  maxTokens: z
    .int()
    .min(1)
    .nullable()
    .describe('Most tokens in a row that is trained on; null for no limit besides `tokenBudget`.'),
  layout: z.enum(['verl', 'step']).describe('What a row is: a whole trajectory (`verl`) or one step with its prompt (`step`).'),
  tokenBudget: z.int().min(1).describe('Most tokens in a micro-batch.'),
}) satisfies z.ZodType<PlanRules>;

/** Once per lineage: other rules are another policy, so that all batches of one are comparable. */
export const trainingDeclared = eventData('The training of a policy was declared: its estimator, its rules and its seed.', {
  ...lineage,
  estimator: method.describe('Estimator that computes the advantages.'),
  rules: planRules.describe('Rules by which batches are planned.'),
  seed: z.int().describe('Seed of the order of groups in batches.'),
  trainer: json.describe('Settings of the trainer, such as backend, loss and learning rates, as free-form JSON.'),
});

/** Why a finished rollout is never trained on. */
export const REJECTIONS = [
  'zero-variance',
  'stale',
  'too-long',
  'failed',
  'cancelled',
  'empty',
  'singleton',
  'unscored',
  'incomplete-record',
  'other-distribution',
  'unclear-calls',
  'foreign-policy',
  'incomplete-group',
  'filtered',
  'not-needed',
] as const;

/**
 * What one update is to consume, and in which order. `manifestHash` (`manifestHashOf`) chains the batches: a missing, changed or
 * reordered one is seen, and the same plan has the same hash whenever it was made.
 */
export const batchPlanned = eventData('A batch was planned: the samples of one training update, in order.', {
  ...lineage,
  batchId,
  ordinal: batchOrdinal,
  policyVersion: count.describe('Version that the batch is trained on: the newest one once the batches before it are trained.'),
  estimator: method.describe('Estimator that computes the advantages.'),
  rules: planRules.describe('Rules by which the batch was planned.'),
  seed: z.int().describe('Seed of the order of the groups.'),
  position: z.string().max(10_000).describe('Log position up to which the planner had read.'),
  groups: z
    .array(
      z.strictObject({
        treeId: treeId.describe('UUID of the tree, which is the group.'),
        rolloutIds: z.array(id).min(1).max(5_000).describe('UUIDs of the members that are trained on.'),
      }),
    )
    .min(1)
    .max(5_000)
    .describe('Groups of the batch in an order drawn by the seed.'),
  samples: count.describe('Number of samples over all groups.'),
  tokens: counter.describe('Number of tokens over all samples.'),
  shards: z
    .array(z.array(count).max(5_000))
    .min(1)
    .max(5_000)
    .describe('Indexes of the samples of each micro-batch, counted over all groups from 0.'),
  previousHash: sha256.nullable().describe('`manifestHash` of the previous batch of the lineage; null for the first one.'),
  manifestHash: sha256.describe('SHA-256 of the canonical JSON of this data without `manifestHash` and `position`.'),
});

export const sampleRejected = eventData('A finished rollout was rejected: no batch will contain it.', {
  ...lineage,
  groupId: id.describe('UUID of the group, which is the tree of the rollout.'),
  rolloutId,
  reason: z.enum(REJECTIONS).describe('Kind of the rejection.'),
  rule: z.string().max(2_000).describe('Rule that rejected the rollout.'),
  measured: finite.nullable().describe('Value that the rule measured; null when it measures none.'),
});

export const checkpointSaved = eventData('The weights of a policy version were saved.', {
  ...lineage,
  checkpointId,
  version: count.describe('Version whose weights the checkpoint holds.'),
  backend: name.describe('Name of the training backend that wrote the checkpoint.'),
  weights: sha256.describe('SHA-256 of the weights.'),
  kept: blobRef.nullable().describe('Checkpoint in the blob store; null when the trainer keeps it elsewhere.'),
  covers: count.nullable().describe('Ordinal of the last batch that the weights contain; null for the first version.'),
});

/** Advantages are not stored, they are computed again from the rewards of the batch by `estimator`. */
export const policyUpdated = eventData('A new version of a policy exists: the first one, or the result of a training update.', {
  ...lineage,
  version: count.describe('Number of the version.'),
  parentVersion: count.nullable().describe('Version that was trained; null for the first version.'),
  batchId: id.nullable().describe('UUID of the batch that was trained on; null for the first version.'),
  checkpointId: checkpointId.describe('UUID of the checkpoint that holds the version.'),
  weights: sha256.describe('SHA-256 of the weights.'),
  estimator: method
    .nullable()
    .describe('Estimator that computed the advantages; null for the first version and for behaviour cloning.'),
  loss: method.nullable().describe('Loss that was minimised; null for the first version.'),
  samples: count.describe('Number of samples that the update was trained on.'),
  metrics: z.record(name, finite).describe('Metrics of the update by name.'),
  rewardsAt: z
    .string()
    .max(10_000)
    .optional()
    .describe('Log position of the rewards that were used; absent when the trainer does not report it.'),
  logProbs: blobRef
    .optional()
    .describe('Log-probability of each sampled token of the batch by this version, as safetensors; absent where not reported.'),
});
