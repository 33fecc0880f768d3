import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import { type Chat, chat, chatEpisode, refusedShape } from './chat-episode.ts';

const said = z.union([z.string(), chat]);
const row = z.looseObject({
  prompt: said,
  completion: said,
  reward: z.number().nullish(),
  example_id: z.union([z.string(), z.number()]).optional(),
  task: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

/**
 * Reads a line of `results.jsonl` as verifiers saves evaluations: `prompt` and `completion` as chats or texts, `reward`,
 * `example_id`; `prompt`, `completion` of other files alike.
 */
export function parseVerifiersRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { prompt, completion, reward, example_id: id, task } = parsed.data;
  const messages = [...chatOf(prompt, 'user'), ...chatOf(completion, 'assistant')];
  const named = environment ?? (typeof task === 'string' && task !== '' && task.length <= 100 ? task : 'verifiers');
  return chatEpisode(messages, {
    ...{ environment: named, reward: reward ?? null },
    ...(id === undefined ? {} : { alias: String(id) }),
  });
}

function chatOf(given: string | Chat, role: string): Chat {
  return typeof given === 'string' ? [{ role, content: given }] : given;
}
