import { z } from 'zod';
import {
  admissibleActions,
  amount,
  count,
  epoch,
  eventData,
  finite,
  id,
  name,
  packed,
  packedPayload,
  policyId,
  policyRef,
  policyVersion,
  remark,
  rolloutId,
  runId,
  scorer,
  sha256,
  spokenName,
  stateHash,
  task,
  text,
  toolId,
  treeId,
  usage,
} from './values.ts';

export const picture = z.strictObject({
  imageId: sha256.describe('SHA-256 of the size and the pixels of the picture.'),
  width: count.describe('Width in pixels.'),
  height: count.describe('Height in pixels.'),
  png: packedPayload.describe('The picture as a PNG, as uint8.'),
});

const pictures = z
  .array(picture)
  .max(16)
  .optional()
  .describe('Pictures behind the text of the observation, in order; absent when it has none.');

export const treeOpened = eventData('A tree was opened: a task was started and the environment returned its first observation.', {
  treeId,
  runId,
  task: task.describe('Task of the tree.'),
  rootStepId: id.describe('UUID of the root step, which has no action.'),
  instruction: text.describe('Instruction with which every prompt of the tree begins.'),
  observation: text.describe('First observation of the task.'),
  pictures,
  admissibleActions,
  stateHash,
  plannedRollouts: count.describe('Number of rollouts planned in the tree.'),
  seed: z.int().describe('Seed of the tree.'),
  shared: z
    .literal(true)
    .optional()
    .describe('Several programs record its rollouts: it is closed when as many as are planned have ended.'),
});

export const treeResumed = eventData(
  'A collector took over a tree: what an earlier one appends to its stream behind this event has no effect.',
  { treeId, runId, epoch: epoch.describe('Epoch of the collector that goes on with the tree, above those of all before it.') },
);

export const rolloutStarted = eventData('A rollout started at a step of a tree.', {
  rolloutId,
  treeId,
  fromStepId: id.describe('UUID of the step at which the rollout starts.'),
  ordinal: count.describe('Number of the rollout in its tree, from 0.'),
  seed: z.int().describe('Seed of the rollout.'),
  policy: policyRef.describe('Policy that acts.'),
});

/** The answered request to a model server that gave a response: enough to find it again in the server's own record. */
export const modelCall = z.strictObject({
  responseId: z.string().max(500).nullable().describe('Id that the server gave the response; null when it gave none.'),
  model: z.string().max(500).nullable().describe('Model as the server names it; null when it names none.'),
  requestHash: sha256.describe('SHA-256 of the body of the request.'),
  attempts: z.int().min(1).max(1_000_000).describe('Number of times the request was sent until it was answered.'),
  latencyMs: amount.min(0).describe('Time from the first attempt to the whole response in milliseconds.'),
  usage: usage
    .nullable()
    .describe('Tokens of all choices of the request, as the server counts; null when it does not report them.'),
  trimmed: z
    .strictObject({
      from: count.describe('Index of the first step left out, from 0.'),
      to: count.describe('Index after the last step left out.'),
    })
    .nullable()
    .describe('Range of history steps left out so that the prompt fits; null when the prompt is whole.'),
  fingerprint: z
    .string()
    .max(500)
    .optional()
    .describe(
      'Name of the weights that drew it: `system_fingerprint`, SGLang: `weight_version`; absent when the server sends none.',
    ),
});

/** A call of a tool in a reply, as the model wrote it. */
const replyCall = z.strictObject({
  id: toolId.nullable().describe('Id of the call by which its result names it; null when its server gives none.'),
  name: spokenName.describe('Name of the tool.'),
  arguments: text.describe('Arguments as text, mostly JSON.'),
});

/**
 * What is new at one step. The prompt is not stored: it is rebuilt by walking up the tree, so storage is linear in distinct text.
 */
export const stepTaken = eventData('A step was taken: an action was executed and the environment returned an observation.', {
  stepId: id.describe('UUID of the step.'),
  treeId,
  parentStepId: id.describe('UUID of the step at which the action was chosen.'),
  rolloutId: id.nullable().describe('UUID of the rollout that took the step; null for a search step at which no rollout ends.'),
  depth: z.int().min(1).describe('Number of actions from the root to this step.'),
  response: text.describe('Response of the policy, unchanged.'),
  thought: text.describe('Thought in the response; empty when it has none.'),
  reply: z
    .strictObject({
      reasoning: z.boolean().describe('Whether `thought` is reasoning that came apart from `response`.'),
      toolCalls: z.array(replyCall).max(1_000).describe('Calls of tools in the reply, in order.'),
    })
    .optional()
    .describe('What the reply is besides `response`; absent when it is that text alone.'),
  action: text.describe('Action that was executed.'),
  observation: text.describe('Observation that the environment returned.'),
  pictures,
  wellFormatted: z.boolean().describe('Whether the response has the requested form.'),
  executable: z.boolean().describe('Whether the environment understood and executed the action.'),
  termination: z
    .enum(['none', 'terminated', 'truncated'])
    .describe('Whether the episode ended with this step: not, by the environment, or by a limit.'),
  policySpans: z
    .array(
      z.strictObject({
        from: count.describe('Index of the first token, from 0.'),
        to: count.describe('Index after the last token.'),
        policyId,
        version: policyVersion,
      }),
    )
    .min(1)
    .max(1_000)
    .describe('Policy version that sampled each range of the tokens of the response.'),
  tokens: z
    .strictObject({
      ids: packedPayload.describe('Token ids, as int32.'),
      logProbs: packed.nullable().describe('Log-probability of each token, as float32; null when the engine returns none.'),
      mask: packed.nullable().describe('1 for each token that the policy sampled, else 0, as uint8; null when it sampled all.'),
      ends: packed
        .optional()
        .describe('Index in `response`, in code points, after the text of each token, as int32; absent when unknown.'),
      entropies: packed
        .optional()
        .describe('Entropy of the distribution of each token, in nats, as float32; absent when the engine returns none.'),
    })
    .nullable()
    .describe('Sampled tokens as the engine returned them; null when it returned none.'),
  usage: usage.nullable().describe('Number of tokens of this response and its prompt; null when it is not exactly known.'),
  finishReason: name.nullable().describe('Why sampling stopped, for example `stop` or `length`; null when it is not reported.'),
  call: modelCall
    .nullable()
    .describe('Request to a model server that returned the response; null for a policy that uses no server.'),
  timings: z
    .strictObject({
      policyMs: amount.min(0).describe('Time spent waiting for the policy in milliseconds.'),
      environmentMs: amount.min(0).describe('Time spent waiting for the environment in milliseconds.'),
    })
    .describe('Durations of the step.'),
  stateHash,
  admissibleActions,
});

export const toolCalled = eventData('A tool was called within a step.', {
  toolCallId: id.describe('UUID of the call.'),
  treeId,
  stepId: id.describe('UUID of the step that made the call.'),
  ordinal: count.describe('Number of the call in its step, from 0.'),
  tool: name.describe('Name of the tool.'),
  arguments: text.describe('Arguments of the call as text.'),
  output: text.describe('Output of the tool, or its error.'),
  outcome: z.enum(['ok', 'error']).describe('Whether the call succeeded.'),
  durationMs: amount.min(0).describe('Duration of the call in milliseconds.'),
});

export const rewardAssigned = eventData('A reward was assigned to a step or to a whole rollout.', {
  rewardId: id.describe('UUID of the reward.'),
  treeId,
  stepId: id.nullable().describe('UUID of the step; null for a reward of a whole rollout.'),
  rolloutId: id.nullable().describe('UUID of the rollout; null for a search step at which no rollout ends.'),
  component: name.describe('Component of the reward, for example `environment`.'),
  value: amount.describe('Value that the reward adds to the return.'),
  scorer: scorer.describe('Scorer that assigned the reward.'),
  raw: z
    .strictObject({
      value: finite.describe('Reward before normalisation.'),
      scale: finite.describe('Number by which the reward is divided to normalise it.'),
      kind: z
        .enum(['final', 'cumulative', 'delta'])
        .describe('Whether the reward is the result of the episode, the sum so far, or the change at this step.'),
    })
    .nullable()
    .describe('Reward as the environment returned it; null when it does not come from the environment.'),
});

/** The value assigned before stays in the record. */
export const rewardRevised = eventData('A reward was revised: a new value replaces the one in force.', {
  rewardId: id.describe('UUID of the reward.'),
  treeId,
  value: amount.describe('New value of the reward.'),
  scorer: scorer.describe('Scorer that revised the reward.'),
  reason: remark.describe('Reason for the revision.'),
});

export const replayDiverged = eventData('Recorded actions were executed again and the result differs from the record.', {
  treeId,
  stepId: id.describe('UUID of the step that differs.'),
  field: z
    .enum(['observation', 'reward', 'termination', 'stateHash'])
    .describe('What differs; `stateHash` where nothing else does and the state is another.'),
  recorded: text.describe('Recorded value.'),
  replayed: text.describe('Value in the repeated execution.'),
  stateHashes: z
    .strictObject({
      recorded: stateHash.describe('Recorded SHA-256 of the state; null when none is recorded.'),
      replayed: stateHash.describe('SHA-256 of the state in the repeated execution; null when the environment reports none.'),
    })
    .optional()
    .describe('States at the step; absent when neither is known.'),
});

export const rolloutFinished = eventData('A rollout finished: it reached an end, or nothing more of it follows.', {
  rolloutId,
  treeId,
  leafStepId: id.describe(
    'UUID of the last step that the rollout took, or of the one that it began at; another one is refused by its tree.',
  ),
  outcome: z
    .enum(['terminated', 'truncated', 'failed', 'cancelled'])
    .describe('How the rollout ended: by the environment, by a limit, by a fault, or by cancellation.'),
  success: z.boolean().nullable().describe('Whether the environment reports success; null when it does not report it.'),
  steps: count.describe('Number of steps from where the rollout began to its last one; another number is refused by its tree.'),
  reason: remark.describe('Details of the end; empty when there are none.'),
  unclearCalls: count
    .optional()
    .describe(
      'Number of captured calls that may belong to the path and lie next to it; absent for a rollout that is not captured.',
    ),
  lostParts: count
    .optional()
    .describe('Number of parts of its captured calls that could not be read; absent for a rollout that is not captured.'),
});

export const treeClosed = eventData('A tree was closed: no further steps follow.', {
  treeId,
  reason: z
    .enum(['completed', 'exhausted', 'failed', 'cancelled'])
    .describe('Why it was closed; `exhausted` when a search has no node left to expand.'),
  rollouts: count.describe('Number of rollouts in the tree.'),
  fault: remark.optional().describe('Failure of the environment that closed it; absent where none did.'),
});
