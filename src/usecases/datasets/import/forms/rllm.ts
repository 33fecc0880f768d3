import { z } from 'zod';
import type { Sha256 } from '../../../../digest/sha256.ts';
import { sha256Hex } from '../../../../digest/sha256.ts';
import { BEYOND_FLOAT32, fitsFloat32 } from '../../../../domain/float32.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { readParsedRows } from '../read-rows.ts';
import { type Chat, chat, chatEpisode, refusedShape } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';
import { chatNotes } from './messages-row.ts';

const count = z.number().int().nonnegative();
const step = z.looseObject({
  chat_completions: chat,
  reward: z.number().nullish(),
  response_ids: z.array(count).nullish(),
  logprobs: z.array(z.number().refine(fitsFloat32, BEYOND_FLOAT32)).nullish(),
  weight_version: count.nullish(),
});
type Step = z.infer<typeof step>;
const trajectory = z.looseObject({ name: z.string().nullish(), reward: z.number().nullish(), steps: z.array(step) });
const episode = z.looseObject({
  task: z.unknown(),
  is_correct: z.boolean().nullish(),
  termination_reason: z.string().nullish(),
  training_step: count.nullish(),
  trajectories: z.array(z.unknown()),
});
const READ = [...Object.keys(episode.shape), 'id', 'episode_id', 'session_id', 'epoch', 'task_hash', 'eval_idx'];
const TRAJECTORY_READ = [...Object.keys(trajectory.shape), 'uid', 'num_steps', 'task'];
/** What of a step is in its messages too, or follows from what is read. */
const STEP_READ = [
  ...Object.keys(step.shape),
  ...['observation', 'thought', 'action', 'model_response', 'model_output', 'done', 'mc_return', 'id', 'input', 'output'],
];
const CUT = ['max_prompt_length_exceeded', 'max_response_length_exceeded', 'max_turns_exceeded', 'timeout'];

/** Episodes of rLLM: as its trainers log them, a file each, as `rllm eval` stores them, and as arrays of `Episode.to_dict()`. */
export const rLlmForm = {
  name: 'rllm',
  importer: 'rllm/1',
  title: 'rLLM',
  policyId: 'rllm',
  notKept: 'token ids of prompts, advantages, metrics, artifacts, times, and steps whose prompt the last one does not continue',
  recognizes: (first) => Array.isArray(first.trajectories) && 'is_correct' in first,
  items: (path, { environment }, hash) => readEpisodes(path, environment, hash),
} as const satisfies ItemForm;

async function* readEpisodes(path: string, environment: string | null, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  for await (const { line, ...row } of readParsedRows(path, hash, 'null')) {
    if (row.kind === 'refused') yield { line, parsed: row };
    else for (const parsed of parseEpisode(row.value, environment)) yield { line, parsed };
  }
}

/** Reads an episode: each trajectory, which may be of another agent, is a rollout of its task and of its name. */
function* parseEpisode(value: unknown, environment: string | null): Generator<ParsedItem> {
  const parsed = episode.safeParse(wellFormed(value).value);
  if (!parsed.success) return yield refusedShape(parsed.error);
  const { task, is_correct: success, termination_reason: ended, training_step: version, trajectories } = parsed.data;
  if (trajectories.length === 0) yield { kind: 'no-conversation' };
  const id = isObject(task) && (typeof task.id === 'string' || typeof task.id === 'number') ? `${task.id}` : null;
  const alias = id ?? sha256Hex(JSON.stringify(task ?? null)).slice(0, 16);
  const outcome = ended === 'error' ? 'failed' : CUT.includes(ended ?? '') ? 'truncated' : 'terminated';
  const notes = [...characterNotes(value), ...unreadNotes(parsed.data, READ)];
  for (const each of trajectories) {
    const facts = { environment: environment ?? 'rllm', alias, success: success ?? null, outcome } as const;
    yield withNotes(parseTrajectory(each, facts, version ?? null), notes);
  }
}

interface Facts {
  readonly environment: string;
  readonly alias: string;
  readonly success: boolean | null;
  readonly outcome: 'failed' | 'truncated' | 'terminated';
}

/**
 * Reads a trajectory: the conversation of its last step, whose replies that end the conversation of a step are that step's, with the
 * tokens sampled. Rewards of steps that sum up to that of the trajectory are kept as they are, else it is one of the whole.
 */
function parseTrajectory(value: unknown, facts: Facts, trainingStep: number | null): ParsedItem {
  const parsed = trajectory.safeParse(value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { name, reward, steps } = parsed.data;
  const last = steps.at(-1)?.chat_completions ?? [];
  const own = new Map<number, Step>(); // by the place of its reply
  for (const each of steps) {
    const asked = each.chat_completions;
    const isPrefix = asked.every((message, i) => JSON.stringify(message) === JSON.stringify(last[i]));
    if (isPrefix && asked.at(-1)?.role === 'assistant') own.set(asked.length - 1, each);
  }
  if (own.size === 0) return { kind: 'no-conversation' };
  const messages: Chat = last.map((message, i) =>
    message.role === 'assistant' ? { ...message, weight: own.has(i) ? 1 : 0 } : message,
  );
  const replies = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  const single = replies.flatMap((at, turn) => {
    const amount = own.get(at)?.reward;
    return amount ? [{ component: 'environment', value: amount, turn }] : [];
  });
  const isSum = reward === null || reward === undefined || single.reduce((sum, each) => sum + each.value, 0) === reward;
  const version = steps.find((each) => typeof each.weight_version === 'number')?.weight_version ?? trainingStep ?? 0;
  const isNamed = name && name !== 'default_traj_name';
  const read = chatEpisode(
    messages,
    {
      ...facts,
      alias: isNamed ? `${facts.alias} ${name}` : facts.alias,
      reward: isSum && single.length > 0 ? null : (reward ?? null),
      rewards: isSum ? single : [],
      policy: { policyId: 'rllm', version },
    },
    { all: 'steps[].chat_completions', at: (place) => `chat_completions.${place}` },
  );
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => {
    const made = own.get(replies[i] ?? -1);
    const ids = made?.response_ids ?? [];
    const logProbs = made?.logprobs?.length === ids.length ? made.logprobs : null;
    return ids.length === 0 ? turn : { ...turn, tokens: { ids, logProbs } };
  });
  const notes: RowNote[] = [
    ...chatNotes(last),
    ...unreadNotes(parsed.data, TRAJECTORY_READ, 'trajectories[].'),
    ...steps.flatMap((each) => unreadNotes(each, STEP_READ, 'steps[].')),
    ...steps
      .slice(own.size)
      .map((): RowNote => ({ kind: 'part-not-read', field: 'step whose prompt the last one does not continue' })),
    ...(isSum || single.length === 0 ? [] : [{ kind: 'field-not-read', field: 'steps[].reward' } as const]),
  ];
  return withNotes({ ...read, episode: { ...read.episode, turns } }, notes);
}
