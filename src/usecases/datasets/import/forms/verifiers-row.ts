import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type ParsedItem, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type Chat, chat, chatEpisode, refusedShape } from './chat-episode.ts';
import { chatNotes, factsOf, offeredTools } from './messages-row.ts';

const said = z.union([z.string(), chat]);
const row = z.looseObject({
  prompt: said,
  completion: said,
  tools: offeredTools,
  reward: z.number().nullish(),
  rewards: z
    .array(z.object({ component: z.string().min(1), value: z.number() }))
    .optional()
    .catch(undefined), // another's may be anything
  example_id: z.union([z.string(), z.number()]).optional(),
  task: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

const READ = ['prompt', 'completion', 'tools', 'reward', 'example_id', 'task'];
/** What `trl` and `trl-grpo` have besides; the group, the trajectory and the part are of the record that they are made of. */
const OURS = ['rewards', 'metadata', 'group', 'trajectory', 'part'];

/** The columns that `parseVerifiersRow` reads. */
export const VERIFIERS_COLUMNS = [...READ, ...OURS];

/**
 * Reads a line of `results.jsonl` as verifiers saves evaluations: `prompt` and `completion` as chats or texts, `reward`,
 * `example_id`; `prompt`, `completion` of other files alike: of TRL, and our own `trl` and `trl-grpo` with what their metadata
 * say. Replies in the prompt are context: who completed it did not say them.
 */
export function parseVerifiersRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { prompt, completion, tools, reward, rewards, example_id: id, task, metadata } = parsed.data;
  const shown = chatOf(prompt, 'user').map((each) => (each.role === 'assistant' ? { ...each, weight: 0 } : each));
  const messages = [...shown, ...chatOf(completion, 'assistant')];
  const names = {
    all: 'completion',
    at: (place: number) => (place < shown.length ? `prompt.${place}` : `completion.${place - shown.length}`),
  };
  const notes = chatNotes(messages);
  const own = factsOf(metadata, undefined, environment);
  if (own.policy)
    return withNotes(
      chatEpisode(
        messages,
        { ...own, tools, ...(rewards ? { reward: null, rewards: rewards.map((each) => ({ ...each, turn: null })) } : {}) },
        names,
      ),
      [...notes, ...unreadNotes(parsed.data, [...READ, ...OURS])],
    );
  const named = environment ?? (typeof task === 'string' && task !== '' && task.length <= 100 ? task : 'verifiers');
  const facts = { environment: named, tools, reward: reward ?? null, ...(id === undefined ? {} : { alias: String(id) }) };
  return withNotes(chatEpisode(messages, facts, names), [...notes, ...unreadNotes(parsed.data, READ)]);
}

function chatOf(given: string | Chat, role: string): Chat {
  return typeof given === 'string' ? [{ role, content: given }] : given;
}
