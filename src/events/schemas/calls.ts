import { z } from 'zod';
import { modelCall, picture } from './trees.ts';
import {
  amount,
  count,
  eventData,
  finite,
  id,
  name,
  packed,
  packedPayload,
  remark,
  rolloutId,
  sha256,
  text,
  treeId,
  usage,
} from './values.ts';

const choice = z.strictObject({
  message: text.describe('Message of the model as JSON, as its server returned it.'),
  conversation: sha256.describe(
    'Digest of the conversation up to this message, by which a later request is seen to continue it.',
  ),
  tokens: z
    .strictObject({
      ids: packedPayload.describe('Token ids, as int32.'),
      logProbs: packed.nullable().describe('Log-probability of each token, as float32; null when the engine returns none.'),
    })
    .nullable()
    .describe('Sampled tokens; null when the server returned none.'),
  namedTokens: text
    .optional()
    .describe('Log-probabilities that came without token ids, by the texts of tokens, as JSON; absent when there are none.'),
  usage: usage.nullable().describe('Tokens of the prompt and of this choice; null when they are not exactly known.'),
  finishReason: name.nullable().describe('Why sampling stopped; null when it is not reported.'),
});

/**
 * The step that a reply becomes is recorded when its observation is known: with the next call, or at the end of the rollout.
 * Until then this event holds the reply.
 */
export const callCaptured = eventData('A program of the user called a model: what it returned, or why it returned nothing.', {
  callId: id.describe('UUID of the call.'),
  treeId,
  rolloutId,
  ordinal: count.describe('Number of the call in its rollout, from 0, in the order in which calls began.'),
  parentStepId: id.describe('UUID of the step at which the call was made.'),
  stepId: id
    .nullable()
    .describe('UUID of the step that the reply becomes, of a cancelled call if a later one shows it; null when it becomes none.'),
  place: z
    .enum(['path', 'branch'])
    .describe(
      'Whether the call goes on with the conversation that the rollout follows, or with one next to it, as a sub-agent does.',
    ),
  unclear: z
    .enum(['altered-history', 'tools-waiting', 'overlapping', 'unrecorded-reply'])
    .optional()
    .describe(
      'Why its place is not certain: altered history, waiting tools, a call in flight, a missing reply before it; absent if it is.',
    ),
  source: z
    .enum(['proxy', 'trace', 'client'])
    .describe('How it was captured: on its way to the model, from spans of a trace, or in the process of the program.'),
  api: name.describe('Protocol of the call: `chat.completions`, `responses`, `messages` or `embeddings`.'),
  outcome: z
    .enum(['answered', 'failed', 'cancelled'])
    .describe('Whether the model answered; cancelled when the program went away first.'),
  status: z.int().min(0).max(999).nullable().describe('HTTP status of the model server; null when there is none.'),
  message: remark.describe('What went wrong; empty when nothing did.'),
  prompt: sha256.nullable().describe('Digest of the conversation that was sent; null when the request could not be read.'),
  choices: z.array(choice).max(128).describe('Choices that the model returned; of a cancelled call what had arrived of them.'),
  call: modelCall.nullable().describe('Request that was answered; null when it was not.'),
  timings: z
    .strictObject({
      firstMs: amount.min(0).nullable().describe('Time until the first part of the reply in milliseconds; null when none came.'),
      totalMs: amount.min(0).describe('Time until the end of the call in milliseconds.'),
    })
    .describe('Durations of the call.'),
  pictures: z
    .array(picture)
    .max(64)
    .optional()
    .describe('Pictures of the prompt that no observation of the tree holds, in order; absent when there are none.'),
  attributes: text
    .optional()
    .describe(
      'What of the call has no place elsewhere, as JSON: attributes of its span, what was embedded; absent when there is none.',
    ),
});

/**
 * Exporters send a span when it ends, in any order and in several requests: what was accepted is kept here until all of its
 * rollout that is to come has come. Its steps are recorded then, in the order of the times of spans.
 */
export const spanReceived = eventData('A span of a trace was received that describes a captured rollout.', {
  spanId: id.describe('UUID of the span, which follows from the ids of trace and span; also that of the call that it becomes.'),
  treeId,
  rolloutId,
  run: name.describe('Run as the program names it.'),
  task: name.describe('Task as the program names it.'),
  rollout: name.describe('Rollout as the program names it.'),
  kind: z
    .enum(['model', 'tool', 'agent', 'chain', 'root', 'log'])
    .describe('What it is of: a model call, a tool call, an agent, what encloses them, the trace, or a log record of a call.'),
  endsRollout: z.boolean().describe('Whether the rollout ends with this span, as one does that its trace names.'),
  startMs: finite.min(0).describe('When it began, in milliseconds since 1970.'),
  span: text.describe('The span with all its attributes, as JSON.'),
});
