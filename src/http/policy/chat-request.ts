import { z } from 'zod';

const part = z.object({
  type: z.literal('text', { error: 'only text parts are understood: this policy sees no pictures' }),
  text: z.string(),
});
const content = z.union([z.string(), z.array(part).transform((parts) => parts.map(({ text }) => text).join(''))]);

/**
 * What is read of a chat-completions request. Fields that change nothing here (max_tokens, stop, top_p 1, user, …) are let pass.
 */
export const chatRequest = z.object({
  model: z.string(),
  messages: z
    .array(z.object({ role: z.enum(['system', 'developer', 'user', 'assistant']), content }))
    .min(1)
    .max(10_000),
  n: z.int().min(1).max(128).nullish(),
  seed: z.int().nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.literal(1, { error: 'only 1 is served: the policy draws from its whole distribution' }).nullish(),
  top_k: z
    .union([z.literal(-1), z.literal(0)], { error: 'is not served: the policy draws from its whole distribution; leave it out' })
    .nullish(),
  min_p: z.literal(0, { error: 'is not served: the policy draws from its whole distribution; leave it out' }).nullish(),
  repetition_penalty: z
    .literal(1, { error: 'is not served: the policy draws from its whole distribution; leave it out' })
    .nullish(),
  stream: z.literal(false, { error: 'streams are not served; leave it out' }).nullish(),
  tools: z.array(z.never({ error: 'tools are not served' })).nullish(),
  logprobs: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  return_meta_info: z.boolean().nullish(),
  /** Not of OpenAI: the goal and what can be done now. Without them they are read from the first and the last message. */
  goal: z.string().nullish(),
  admissible_actions: z.array(z.string().min(1)).min(1).max(10_000).nullish(),
});
export type ChatRequest = z.infer<typeof chatRequest>;
