import { z } from 'zod';
import { BEYOND_FLOAT32, fitsFloat32 } from '../../../../domain/float32.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type EpisodeTurn, type ParsedItem, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type Chat, chat, chatEpisode, refusedShape } from './chat-episode.ts';
import type { ItemForm } from './item-of-file.ts';
import { chatNotes } from './messages-row.ts';
import { readItems } from './read-items.ts';

const count = z.number().int().nonnegative();
const sample = z.looseObject({
  group_index: count.nullish(),
  prompt: z.union([z.string(), chat]),
  response: z.string(),
  response_length: count,
  tokens: z.array(count),
  loss_mask: z.array(z.union([z.literal(0), z.literal(1)])).nullish(),
  rollout_log_probs: z.array(z.number().refine(fitsFloat32, BEYOND_FLOAT32)).nullish(),
  reward: z.union([z.number(), z.record(z.string().min(1), z.unknown())]).nullish(),
  weight_versions: z.array(z.unknown()).nullish(),
  status: z.enum(['pending', 'completed', 'truncated', 'aborted', 'failed']),
});
type Sample = z.infer<typeof sample>;
/** Besides: places, what is counted of the engine, and how a sample was made. */
const READ = [
  ...Object.keys(sample.shape),
  ...['index', 'rollout_id', 'spec_info', 'prefix_cache_info', 'non_generation_time', 'session_id', 'remove_sample'],
  ...['generate_function_path', 'custom_rm_path', 'apply_chat_template_kwargs'],
];
const OUTCOMES = { completed: 'terminated', truncated: 'truncated', aborted: 'cancelled', failed: 'failed' } as const;

/** Samples of slime's rollout dumps (`--save-debug-rollout-data`), as `python -m espalier_rl.adapters.slime` writes them in lines. */
export const slimeForm = {
  name: 'slime',
  importer: 'slime/1',
  title: 'slime',
  policyId: 'slime',
  notKept: 'labels, metadata, token ids of prompts, log-probabilities of teachers, and routed experts',
  recognizes: (first) => 'response_length' in first && 'loss_mask' in first && 'rollout_log_probs' in first,
  items: (path, { environment }, hash) => readItems(path, hash, READ, (value) => parseSample(value, environment)),
} as const satisfies ItemForm;

/**
 * Reads a sample: its prompt, and its response as one reply with its tokens, those that a tool said masked out. A reward of several
 * numbers is one of each name. Samples of a group are rollouts of one task.
 */
function parseSample(value: unknown, environment: string | null): ParsedItem {
  const parsed = sample.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { prompt, response, reward, status, group_index: group, weight_versions: versions } = parsed.data;
  if (status === 'pending') return { kind: 'no-conversation' };
  const shown: Chat =
    typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt.map((each) => ({ ...each, weight: 0 }));
  const named = typeof reward === 'object' && reward !== null ? Object.entries(reward) : [];
  const version = Number(versions?.[0] ?? 0);
  const read = chatEpisode([...shown, { role: 'assistant', content: response }], {
    environment: environment ?? 'slime',
    ...(typeof group === 'number' ? { alias: `group ${group}` } : {}),
    reward: typeof reward === 'number' ? reward : null,
    rewards: named.flatMap(([component, each]) => (typeof each === 'number' ? [{ component, value: each, turn: null }] : [])),
    outcome: OUTCOMES[status],
    policy: { policyId: 'slime', version: Number.isSafeInteger(version) && version >= 0 ? version : 0 },
  });
  if (read.kind !== 'episode') return read;
  const tokens = tokensOf(parsed.data);
  const turns = read.episode.turns.map((turn, i, all) => (i === all.length - 1 && tokens ? { ...turn, tokens } : turn));
  return withNotes({ ...read, episode: { ...read.episode, turns } }, [
    ...chatNotes(shown),
    ...unreadNotes(parsed.data, READ),
    ...named.flatMap(([component, each]) =>
      typeof each === 'number' ? [] : [{ kind: 'field-not-read', field: `reward.${component}` } as const],
    ),
    ...(parsed.data.remove_sample === true ? [{ kind: 'field-not-read', field: 'remove_sample' } as const] : []), // slime trains none of it
    ...(tokens ? [] : [{ kind: 'field-not-read', field: 'tokens that are fewer than those of the response' } as const]),
  ]);
}

/** The tokens of the response, which end those of the sample. */
function tokensOf({
  tokens,
  response_length: length,
  loss_mask: mask,
  rollout_log_probs: logProbs,
}: Sample): EpisodeTurn['tokens'] {
  if (length === 0 || tokens.length < length) return undefined;
  return {
    ids: tokens.slice(-length),
    logProbs: logProbs?.length === length ? logProbs : null,
    mask: mask?.length === length && mask.includes(0) ? mask : null,
  };
}
