import { z } from 'zod';
import { amount, count, counter, finite, id, name, packed, policyRef, scorer, sha256, task, text } from './values.ts';

/** The root of a tree: the task, its first observation and the instruction that every prompt of the tree begins with. */
export const treeOpened = z.strictObject({
  treeId: id,
  runId: id,
  task,
  rootStepId: id,
  instruction: text,
  observation: text,
  admissibleActions: z.array(z.string()).max(10_000).nullable(),
  stateHash: sha256.nullable(),
  plannedRollouts: count,
  seed: z.int(),
});

export const rolloutStarted = z.strictObject({
  rolloutId: id,
  treeId: id,
  fromStepId: id,
  ordinal: count,
  seed: z.int(),
  policy: policyRef,
});

/** The answered request to a model server that gave a response: enough to find it again in the server's own record. */
export const modelCall = z.strictObject({
  responseId: z.string().max(500).nullable(),
  model: z.string().max(500).nullable(),
  requestHash: sha256,
  attempts: z.int().min(1).max(1_000_000),
  latencyMs: amount.min(0),
  usage: z.strictObject({ promptTokens: count, completionTokens: count }).nullable(),
  trimmed: z.strictObject({ from: count, to: count }).nullable(),
});

/**
 * What is new at one step. The prompt is not stored: it is rebuilt by walking up the tree, so storage is linear in distinct text.
 * `stateHash` is the hash of the environment state behind the action; that of the parent is the anchor of the step (GiGPO).
 * `policySpans` gives the policy version of each range of sampled tokens [from, to).
 */
export const stepTaken = z.strictObject({
  stepId: id,
  treeId: id,
  parentStepId: id,
  rolloutId: id.nullable(),
  depth: z.int().min(1),
  response: text,
  thought: text,
  action: text,
  observation: text,
  wellFormatted: z.boolean(),
  executable: z.boolean(),
  termination: z.enum(['none', 'terminated', 'truncated']),
  policySpans: z
    .array(z.strictObject({ from: count, to: count, policyId: name, version: count }))
    .min(1)
    .max(1_000),
  tokens: z.strictObject({ ids: packed, logProbs: packed.nullable(), mask: packed.nullable() }).nullable(),
  usage: z.strictObject({ promptTokens: count, completionTokens: count }).nullable(),
  finishReason: name.nullable(),
  call: modelCall.nullable(),
  timings: z.strictObject({ policyMs: amount.min(0), environmentMs: amount.min(0) }),
  stateHash: sha256.nullable(),
  admissibleActions: z.array(z.string()).max(10_000).nullable(),
});

export const toolCalled = z.strictObject({
  toolCallId: id,
  treeId: id,
  stepId: id,
  ordinal: count,
  tool: name,
  arguments: text,
  output: text,
  outcome: z.enum(['ok', 'error']),
  durationMs: amount.min(0),
});

/** A scalar on a step (or, with `stepId` null, on a whole rollout). `raw` keeps what the environment said before normalisation. */
export const rewardAssigned = z.strictObject({
  rewardId: id,
  treeId: id,
  stepId: id.nullable(),
  rolloutId: id.nullable(),
  component: name,
  value: amount,
  scorer,
  raw: z.strictObject({ value: finite, scale: finite, kind: z.enum(['final', 'cumulative', 'delta']) }).nullable(),
});

/** A later judgement of the same reward. The value assigned before stays in the record. */
export const rewardRevised = z.strictObject({
  rewardId: id,
  treeId: id,
  value: amount,
  scorer,
  reason: z.string().max(10_000),
});

/**
 * A step became a node of a search: which candidate of its parent it was, what the episode was worth so far (normalised), and why a walk
 * ends there, if it does. `equivalentTo` is an elder sibling that does the same action after another thought.
 */
export const nodeAdded = z.strictObject({
  treeId: id,
  stepId: id,
  parentStepId: id,
  simulation: counter,
  ordinal: count,
  score: amount,
  end: z.enum(['none', 'terminated', 'truncated', 'disaster', 'depth']),
  equivalentTo: id.nullable(),
});

/**
 * The replies of one call of the model at a node of a search, on record before any of them is executed, so that a search that is killed goes on with them.
 * `replies` is gzip of a JSON array: response, tokens, usage, finishReason, and policy and call where the reply has them. Only a policy that may say
 * something else when it is asked again has them recorded.
 */
export const repliesSampled = z.strictObject({
  treeId: id,
  stepId: id,
  simulation: counter,
  asked: count,
  count,
  policyMs: finite.min(0),
  replies: packed,
});

/** All candidates of a node are known: how many were asked for, which said the same as an elder one, and why there are none at all. */
export const nodeExpanded = z.strictObject({
  treeId: id,
  stepId: id,
  simulation: counter,
  asked: count,
  dropped: z.array(z.strictObject({ ordinal: count, sameAs: count })).max(10_000),
  reason: z.string().max(10_000),
});

/** One back-up of a search: every step of `path` (root first) gets one visit and `value`. */
export const valueBackedUp = z.strictObject({
  treeId: id,
  simulation: counter,
  leafStepId: id,
  value: amount,
  path: z.array(id).min(1).max(10_000),
});

/** What a repeated execution of recorded actions showed instead of the recorded observation or reward. */
export const replayDiverged = z.strictObject({
  treeId: id,
  stepId: id,
  field: z.enum(['observation', 'reward', 'termination']),
  recorded: text,
  replayed: text,
});

/** The end of a rollout; four outcomes that are four different things. `success` is the environment's word, null when it has none. */
export const rolloutFinished = z.strictObject({
  rolloutId: id,
  treeId: id,
  leafStepId: id,
  outcome: z.enum(['terminated', 'truncated', 'failed', 'cancelled']),
  success: z.boolean().nullable(),
  steps: count,
  reason: z.string().max(10_000),
});

export const treeClosed = z.strictObject({
  treeId: id,
  reason: z.enum(['completed', 'exhausted', 'failed', 'cancelled']),
  rollouts: count,
});
