import { z } from 'zod';
import { modelCall } from './trees.ts';
import {
  count,
  eventData,
  id,
  name,
  packed,
  packedPayload,
  remark,
  sha256,
  spokenName,
  stopTexts,
  text,
  toolId,
  treeId,
  usage,
} from './values.ts';

export const role = z.enum(['system', 'user', 'assistant', 'tool']);

export const sampling = z.strictObject({
  temperature: z.number().nullable().describe('Sampling temperature; null when the request leaves it to the server.'),
  topP: z.number().nullable().describe('Nucleus sampling threshold; null when the request leaves it to the server.'),
  topK: z
    .int()
    .nullable()
    .describe('Number of likeliest tokens that are drawn from, -1 for all; null when the request leaves it to the server.'),
  minP: z
    .number()
    .nullable()
    .describe('Least probability of a token, as a share of the likeliest one; null when the request leaves it to the server.'),
  repetitionPenalty: z
    .number()
    .nullable()
    .describe('Divisor of the logits of tokens that occurred, 1 for none; null when the request leaves it to the server.'),
  maxTokens: count.nullable().describe('Longest reply in tokens; null when the request leaves it to the server.'),
  stop: stopTexts.describe('Texts at which sampling stops.'),
  seed: z.int().nullable().describe('Seed that was sent; null when none was.'),
  others: z
    .array(
      z.strictObject({
        name: name.describe('Name of the parameter as it was sent.'),
        value: remark.describe('Its value as JSON, cut where it is longer.'),
      }),
    )
    .max(100)
    .describe('Other parameters of the request that change the distribution, such as penalties and biases.'),
});

const part = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('text').describe('A text that is made of blocks.'),
    blocks: z.array(sha256).max(10_000).describe('SHA-256 of each block in UTF-8; the text is the blocks joined in order.'),
  }),
  z.strictObject({
    kind: z.literal('step').describe('A text that the record of a step holds.'),
    stepId: id.describe('UUID of the step.'),
    field: z
      .enum(['instruction', 'observation', 'response'])
      .describe('Field of the step that is the text; `instruction` is that of its tree.'),
  }),
  z.strictObject({
    kind: z.literal('reasoning').describe('What the model thought, apart from what it said.'),
    blocks: z.array(sha256).max(10_000).describe('SHA-256 of each block in UTF-8; the text is the blocks joined in order.'),
  }),
  z.strictObject({
    kind: z.literal('tool-call').describe('A call of a tool in a reply.'),
    id: toolId.nullable().describe('Id of the call by which its result names it; null when its server gave none.'),
    name: spokenName.describe('Name of the tool.'),
    blocks: z
      .array(sha256)
      .max(10_000)
      .describe('SHA-256 of each block of its arguments in UTF-8, which are the blocks joined in order.'),
  }),
  z.strictObject({
    kind: z.literal('image').describe('An image: the history drawn again, or a picture of an observation.'),
    imageId: sha256.describe('SHA-256 of the size and the pixels of the image.'),
  }),
]);

/**
 * Only what is new is stored: messages of an earlier prompt are named, texts of steps and blocks shown before are referenced.
 * `sha256` says what must come out when the prompt is put together again.
 */
export const promptShown = eventData('A policy was asked with a prompt, and its reply became a step or a judgement.', {
  treeId,
  stepId: id.describe('UUID of the step that the reply became, or that it judges.'),
  judgementId: id.optional().describe('UUID of the judgement that the reply became; absent when it became the step.'),
  base: z
    .strictObject({
      stepId: id.describe('UUID of the earlier step of the tree, or of the earlier judgement, that was asked with it.'),
      messages: count.describe('Number of messages of its prompt with which this prompt begins.'),
    })
    .nullable()
    .describe('Prompt that this one continues; null when it is stored whole.'),
  messages: z
    .array(
      z.strictObject({
        role: role.describe('Role of the message.'),
        parts: z.array(part).max(10_000).describe('Parts of the message in order.'),
        toolCallId: toolId.exactOptional().describe('Id of the call that the message of a tool answers; absent when unknown.'),
        name: spokenName.exactOptional().describe('Tool or person that speaks; absent when unknown.'),
      }),
    )
    .max(10_000)
    .describe('Messages that follow those of the base.'),
  blocks: z.array(text).max(10_000).describe('Texts of the blocks that the prompt of the base does not contain.'),
  sha256: sha256.describe('SHA-256 of the canonical JSON of all messages, texts written out.'),
  template: z
    .strictObject({
      name: name.describe('Name of the prompt template.'),
      version: z.int().min(1).describe('Version of the prompt template.'),
    })
    .nullable()
    .describe('Template that composed the prompt; null for the chat of the environment.'),
  tools: text.nullable().describe('Schema of the tools that the model may call, as JSON; null when it was given none.'),
  sampling: sampling.describe('Sampling parameters of the request.'),
  server: z
    .string()
    .max(500)
    .nullable()
    .describe('Address of the model server without credentials; null for a policy that uses no server.'),
  tokens: z
    .strictObject({
      before: count.describe('Number of token ids of the prompt of the base and of the reply to it.'),
      keep: count.describe('Number of those ids with which this prompt begins; less than `before` means re-tokenisation drift.'),
      ids: packedPayload.describe('Token ids that follow the kept ones, as int32.'),
    })
    .nullable()
    .describe('Token ids of the prompt as the server returned them; null when it returned none.'),
  model: z
    .string()
    .max(500)
    .nullable()
    .optional()
    .describe('Model as it was asked for; null for a policy that names none; absent when unknown.'),
  answer: z
    .strictObject({
      finishReason: name.nullable().describe('Why the reply ended; null when the server does not say.'),
      usage: usage.nullable().describe('Tokens of the prompt and of the reply; null when they are not known.'),
      tokens: z
        .strictObject({
          ids: packedPayload.describe('Token ids, as int32.'),
          logProbs: packed.nullable().describe('Log-probability of each token, as float32; null when the engine returns none.'),
        })
        .nullable()
        .describe('Sampled tokens of the reply; null when the server returned none.'),
      call: modelCall.nullable().describe('Request that was answered; null for a policy that uses no server.'),
    })
    .optional()
    .describe('What came with the reply; absent when the reply became a step, which holds it.'),
});
