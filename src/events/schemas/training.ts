import { z } from 'zod';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import { blobRef, count, counter, finite, id, json, name, sha256 } from './values.ts';

/**
 * All versions of one policy, which are one stream: `lineageId` is derived from the policy's name (`derivedId('lineage', policyId)`).
 */
const lineage = { lineageId: id, policyId: name } as const;

/** How advantages or losses are computed: the function, its revision, and what was chosen of it. "PPO" alone names no computation. */
export const method = z.strictObject({ name, revision: name, mode: json });
export type Method = z.infer<typeof method>;

/**
 * What the rollouts of a run are for. Only `train` feeds batches; `baseline` holds the greedy siblings that ReMax subtracts; `validation` and `held-out`
 * never meet a trainer.
 */
export const CHANNELS = ['train', 'baseline', 'validation', 'held-out'] as const;
export type Channel = (typeof CHANNELS)[number];

/** The part `training` of a run's configuration that puts its rollouts into the pool of a policy; a plan may say more beside it. */
export const trainingChannel = z.object({ policyId: name, channel: z.enum(CHANNELS) });

/** Which groups make a batch, and how it is cut. Recorded whole: no rule has a default that could
 * change under a record. */
export const planRules = z.strictObject({
  groupsPerBatch: z.int().min(1).max(5_000),
  group: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('all') }),
    z.strictObject({ kind: z.literal('at-least'), members: z.int().min(1).max(100_000) }),
    z.strictObject({ kind: z.literal('replace-failed') }),
  ]),
  maxStaleness: count.nullable(),
  offPolicy: z.enum(['any', 'log-probs']),
  metric: name,
  /** Every declaration of today names its components; older ones have none, and mean the sum of all. */
  rewards: z.record(name, finite).optional(), // `declareTraining` refuses one without a weight of the metric: a JSON Schema cannot say it
  unscored: z.enum(['wait', 'reject']),
  zeroVariance: z.enum(['reject', 'keep']),
  band: z.strictObject({ low: finite, high: finite }).nullable(),
  truncated: z.enum(['keep', 'reject']),
  maxTokens: z.int().min(1).nullable(),
  layout: z.enum(['verl', 'step']),
  tokenBudget: z.int().min(1),
}) satisfies z.ZodType<PlanRules>;

/**
 * A policy is to be trained, by these rules, in batches drawn by this seed; `trainer` is what trainers are told beside (backend, loss, rates). Once
 * per lineage: other rules are another policy, so that all batches of one are comparable.
 */
export const trainingDeclared = z.strictObject({ ...lineage, estimator: method, rules: planRules, seed: z.int(), trainer: json });

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
  'foreign-policy',
  'incomplete-group',
  'filtered',
  'not-needed',
] as const;

/**
 * What one update shall consume, and in which order. `ordinal` counts the batches of the lineage from 0; `manifestHash` is the SHA-256 of the
 * canonical JSON of this event without itself and without `position` (`manifestHashOf`), and `previousHash` that of the batch before: a missing,
 * changed or reordered batch is seen, and the same plan has the same hash whenever it was made. `position` is how far the planner had read.
 * `groups` are whole groups, the members that are trained of each, in an order drawn by the seed; `shards[i]` lists the places of the samples
 * (counted through all groups) of micro-batch i.
 */
export const batchPlanned = z.strictObject({
  ...lineage,
  batchId: id,
  ordinal: count,
  /** The version that it is to be trained on: the newest one when the batches before it are trained. */
  policyVersion: count,
  estimator: method,
  rules: planRules,
  seed: z.int(),
  position: z.string().max(10_000),
  groups: z
    .array(z.strictObject({ treeId: id, rolloutIds: z.array(id).min(1).max(5_000) }))
    .min(1)
    .max(5_000),
  samples: count,
  tokens: counter,
  shards: z.array(z.array(count).max(5_000)).min(1).max(5_000),
  previousHash: sha256.nullable(),
  manifestHash: sha256,
});

/** A finished rollout that no batch will hold, with the rule that refused it and what the rule measured. */
export const sampleRejected = z.strictObject({
  ...lineage,
  /** The group: the id of its tree. */
  groupId: id,
  rolloutId: id,
  reason: z.enum(REJECTIONS),
  rule: z.string().max(2_000),
  measured: finite.nullable(),
});

const lease = { ...lineage, batchId: id, leaseId: id, fence: counter } as const;

/** A consumer has the right to a batch until the deadline. `fence` grows with every lease of the batch; an older one is refused. */
export const batchLeased = z.strictObject({ ...lease, consumer: name, deadline: z.iso.datetime({ precision: 3 }) });

/** A lease ended without an update: its deadline passed. The batch is there to be leased again. */
export const leaseExpired = z.strictObject(lease);

/** A consumer gave a batch back, with its reason. The batch is there to be leased again. */
export const batchReturned = z.strictObject({ ...lease, reason: z.string().max(10_000) });

/** A batch was trained: the version that came of it, and the checkpoint that holds it. Once per batch. */
export const batchAcked = z.strictObject({ ...lease, version: count, checkpointId: id });

/**
 * A batch will not be trained, with the reason: its rows cannot be read (`trainer`), or somebody decided so (`operator`). Once per batch, and never one that was trained:
 * no version comes of it, and the next batch is trained on the same base. `leaseId` and `fence` are of the lease that ended with it, null where nobody had one.
 */
export const batchAbandoned = z.strictObject({
  ...lineage,
  batchId: id,
  ordinal: count,
  by: z.enum(['trainer', 'operator']),
  reason: z.string().max(10_000),
  leaseId: id.nullable(),
  fence: counter.nullable(),
});

/** Weights were kept. `weights` is their SHA-256; `kept` the blob, where they are kept here; `covers` the last batch that they hold. */
export const checkpointSaved = z.strictObject({
  ...lineage,
  checkpointId: id,
  version: count,
  backend: name,
  weights: sha256,
  kept: blobRef.nullable(),
  covers: count.nullable(),
});

/**
 * A version of a policy. The first has no parent and no batch. `metrics` are those of the update; advantages are not stored, they are computed
 * again from the batch's rewards by `estimator`: from those that were in force when the log was folded up to the position `rewardsAt`, where the trainer says it.
 */
export const policyUpdated = z.strictObject({
  ...lineage,
  version: count,
  parentVersion: count.nullable(),
  batchId: id.nullable(),
  checkpointId: id,
  weights: sha256,
  estimator: method.nullable(),
  loss: method.nullable(),
  samples: count,
  metrics: z.record(name, finite),
  rewardsAt: z.string().max(10_000).optional(),
});
