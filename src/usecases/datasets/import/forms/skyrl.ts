import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type ParsedItem, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { chatEpisode, refusedShape } from './chat-episode.ts';
import type { ItemForm } from './item-of-file.ts';
import { readItems } from './read-items.ts';

const row = z.looseObject({
  input_prompt: z.string(),
  output_response: z.string(),
  score: z.union([z.number(), z.array(z.number())]).nullish(),
  stop_reason: z.string().nullish(),
  env_class: z.string().nullish(),
});
const READ = [...Object.keys(row.shape), 'data_source'];

/** Evaluations of SkyRL, as it dumps them (`trainer.dump_eval_results`): a file of each data source. */
export const skyRlForm = {
  name: 'skyrl',
  importer: 'skyrl/1',
  title: 'SkyRL',
  policyId: 'skyrl',
  notKept: 'token ids, rewards of single tokens, and what environments are told of a task',
  recognizes: (first) => 'input_prompt' in first && 'output_response' in first,
  items: (path, { environment }, hash) => readItems(path, hash, READ, (value) => parseSkyRlRow(value, environment)),
} as const satisfies ItemForm;

/**
 * Reads a dumped evaluation: the prompt as a text, all that followed as one, and its score, which of each token is summed. Rows of one
 * prompt are rollouts of one task. What followed is context: with tools it holds what those said, and a dump has no mask.
 */
function parseSkyRlRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { input_prompt: input, output_response: output, score, stop_reason: stopped, env_class: world } = parsed.data;
  const read = chatEpisode(
    [
      { role: 'user', content: input },
      { role: 'assistant', content: output, weight: 0 },
    ],
    {
      environment: environment ?? (world || 'skyrl'),
      reward: Array.isArray(score) ? score.reduce((sum, each) => sum + each, 0) : (score ?? null),
      outcome: stopped === 'length' ? 'truncated' : 'terminated',
    },
  );
  return withNotes(read, [{ kind: 'reply-without-mask', field: null }, ...unreadNotes(parsed.data, READ)]);
}
