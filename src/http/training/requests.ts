import { z } from 'zod';
import { method } from '../../events/schemas/training.ts';
import { blobRef, id, name, sha256 } from '../../events/schemas/values.ts';
import { LAYOUTS } from '../../training/rows/layout.ts';

// What trainers send. Bounds that the lease service sets itself (time to live, versions) are the lease service's to refuse, with
// its own words.

const kept = blobRef.nullable().default(null);
const fence = z.int().min(1);

/** The longest that a lease request may wait for a batch, ms. */
export const WAIT_LIMIT_MS = 30_000;

export const registerRequest = z.strictObject({ policyId: name, backend: name, weights: sha256, kept });

export const leaseRequest = z.strictObject({
  policyId: name,
  consumer: name,
  ttlMs: z.int(),
  baseVersion: z.int().min(0).optional(),
  /** How long to wait for a batch when there is none. */
  waitMs: z.int().min(0).max(WAIT_LIMIT_MS).default(0),
  /** What `rows` in the answer points at. */
  layout: z.enum(LAYOUTS).default('step'),
});
export type LeaseBody = z.infer<typeof leaseRequest>;

export const renewRequest = z.strictObject({ fence, ttlMs: z.int() });

export const ackRequest = z.strictObject({
  fence,
  version: z.int(),
  checkpointId: id,
  backend: name,
  weights: sha256,
  kept,
  estimator: method.nullable().optional(),
  loss: method.nullable().default(null),
  metrics: z.record(name, z.number()).default({}),
  /** Of the rows that were trained on, as they say: it keeps replays and shown advantages on the same rewards. */
  rewardsAt: z.string().optional(),
});

export const nackRequest = z.strictObject({ fence, reason: z.string().max(10_000) });

/** By the holder of a lease, and by an operator. */
export const abandonLeasedRequest = z.strictObject({ fence, reason: z.string().max(10_000) });
export const abandonRequest = z.strictObject({ reason: z.string().max(10_000) });
