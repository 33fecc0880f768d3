import { z } from 'zod';
import type { PublishedNode } from '../../domain/search/published-tree.ts';

const message = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

/** A tree as the published program wrote it to a file (specification of Agent-R, §1.7). */
export const publishedNode: z.ZodType<PublishedNode> = z.object({
  visits: z.number(),
  value: z.number(),
  prior: z.number(),
  puct_value: z.number(),
  obs: z.string(),
  llm_response: z.string(),
  depth: z.number(),
  is_terminal: z.boolean(),
  recent_actions: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  action: z.string(),
  env_score: z.number(),
  disaster: z.boolean(),
  state: z.array(message),
  get children() {
    return z.array(publishedNode);
  },
});
