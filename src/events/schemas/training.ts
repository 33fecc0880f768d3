import { z } from 'zod';
import { blobRef, count, counter, finite, id, json, name, sha256 } from './values.ts';

/**
 * All versions of one policy, which are one stream: `lineageId` is derived from the policy's name (`derivedId('lineage', policyId)`).
 */
const lineage = { lineageId: id, policyId: name } as const;

/** How advantages or losses are computed: the function, its revision, and what was chosen of it. "PPO" alone names no computation. */
export const method = z.strictObject({ name, revision: name, mode: json });
export type Method = z.infer<typeof method>;

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
  'filtered',
  'not-needed',
] as const;

/**
 * What one update shall consume, and in which order. `ordinal` counts the batches of the lineage from 0; `manifestHash` is the SHA-256 of the
 * canonical JSON of this event without itself, and `previousHash` that of the batch before: a missing, changed or reordered batch is seen.
 * `position` is how far the planner had read; the same log up to there, the same rules and seed plan the same batch. `groups` are whole
 * groups in closing order; `shards[i]` lists the indices of the samples (counted through all groups) of micro-batch i.
 */
export const batchPlanned = z.strictObject({
  ...lineage,
  batchId: id,
  ordinal: count,
  /** The newest version of the policy when it was planned. */
  policyVersion: count,
  estimator: method,
  /** Group rule, staleness limit, filters, token budget. */
  rules: json,
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
 * again from the batch's rewards by `estimator`.
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
});
