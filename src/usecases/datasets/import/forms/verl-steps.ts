import { open } from 'node:fs/promises';
import { z } from 'zod';
import { updateFromFile } from '../../../../digest/sha256.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { DatasetError } from '../../dataset-error.ts';
import { filledColumns, readParquet } from '../../prepare/read-source.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import {
  type Chat,
  type ChatFacts,
  chat,
  chatEpisode,
  joinedTexts,
  namesIn,
  policyMessages,
  refusedShape,
} from './chat-episode.ts';
import type { ItemForm, ItemOfFile } from './item-of-file.ts';
import { offeredTools } from './messages-row.ts';

const numbers = z.array(z.number()).nullish();
const rewards = z.array(z.object({ component: z.string().min(1), value: z.number() }));
const row = z.looseObject({
  traj_uid: z.string(),
  data_source: z.string().min(1),
  raw_prompt: chat,
  tools: offeredTools,
  response_text: z.string(),
  responses: numbers,
  response_mask: numbers,
  rollout_log_probs: numbers,
  rewards,
  trajectory_rewards: rewards,
  images: z.array(z.unknown()).nullish(),
  outcome: z.enum(['terminated', 'truncated', 'failed', 'cancelled']),
  success: z.boolean().nullish(),
  policy_id: z.string().min(1),
  param_version_start: z.number().int(),
  extra_info: z.looseObject({ task_alias: z.string().min(1) }),
});
type Row = z.infer<typeof row>;
const COLUMNS = Object.keys(row.shape);
/** What follows from the other columns, or from the place of a row. */
const FOLLOWING = [
  ...['uid', 'step_indices', 'step_id', 'prompt_source', 'image_ids', 'image_factors', 'response_message', 'step_reward'],
  ...['termination', 'episode_rewards', 'episode_lengths', 'param_version_end'],
];

/** Returns whether a file is Parquet by its first bytes. */
export async function isParquet(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => null); // who reads it says why it cannot be
  if (handle === null) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString('latin1') === 'PAR1';
  } catch {
    return false; // a folder
  } finally {
    await handle.close();
  }
}

/**
 * Reads our own Parquet for verl with a row per step: consecutive rows of one `traj_uid` are a trajectory, where each prompt
 * continues the one before. Rewards, token ids, log-probabilities, outcome and policy are kept; the observation behind the last
 * reply is not in the file. A trajectory of which a row cannot be read is refused: without that step it never happened. @throws
 * DatasetError `bad-row` for other Parquet, with what holds texts.
 */
export const readVerlSteps: ItemForm['items'] = async function* items(path, { environment }, hash) {
  if (hash) await updateFromFile(hash, path);
  let current: OpenTrajectory | null = null;
  let unread = (await filledColumns(path))
    .filter((name) => !COLUMNS.includes(name) && !FOLLOWING.includes(name))
    .map((field): RowNote => ({ kind: 'column-not-read', field }));
  let at = 0;
  for await (const value of readParquet(path, COLUMNS)) {
    at += 1;
    if (at === 1) refuseOther(path, value);
    if (current && typeof value.traj_uid === 'string' && current.uid !== value.traj_uid) {
      yield* itemsOf(current, environment);
      current = null;
    }
    if (current === null) {
      current = { uid: value.traj_uid, first: at, steps: [], notes: [...unread], brokenAt: null };
      unread = []; // noted once, with the first trajectory
    }
    const parsed = row.safeParse(wellFormed(value).value);
    if (!parsed.success) {
      current.brokenAt ??= at;
      yield { line: at, parsed: refusedShape(parsed.error) };
      continue;
    }
    for (const each of characterNotes(value)) current.notes.push(each);
    current.steps.push(parsed.data);
  }
  if (current) yield* itemsOf(current, environment);
};

interface OpenTrajectory {
  readonly uid: unknown;
  readonly first: number;
  readonly steps: Row[];
  readonly notes: RowNote[];
  /** Its first row that cannot be read. */
  brokenAt: number | null;
}

function* itemsOf({ first, steps, notes, brokenAt }: OpenTrajectory, environment: string | null): Generator<ItemOfFile> {
  if (steps.length === 0) return; // each of its rows is refused
  if (brokenAt === null) {
    yield { line: first, parsed: withNotes(episodeOf(steps, environment), notes) };
    return;
  }
  const reason = `row ${brokenAt} of the trajectory that begins here cannot be read; repair it, or the trajectory is left out whole`;
  yield { line: first, parsed: { kind: 'refused', reason } };
}

/** @throws DatasetError: files of ours that hold no texts, and of others. */
function refuseOther(path: string, value: Readonly<Record<string, unknown>>): void {
  if ('response_text' in value && 'raw_prompt' in value) return;
  throw new DatasetError(
    'bad-row',
    `${path}: is Parquet without the columns raw_prompt and response_text, so its replies are no texts; import takes export --format verl --layout step, Parquet of messages, conversations, or prompt and completion, and events (export --format jsonl), which hold everything`,
  );
}

function episodeOf(steps: readonly Row[], environment: string | null): ParsedItem {
  const [opening, ...rest] = steps;
  const last = steps.at(-1);
  if (!opening || !last) return { kind: 'no-conversation' };
  if (steps.some(({ images }) => images && images.length > 0))
    return {
      kind: 'refused',
      reason: 'images: an import takes texts alone, so leave the trajectory out, or export events (jsonl)',
    };
  let messages: Chat[number][] = [...opening.raw_prompt, replyOf(opening)];
  for (const [i, step] of rest.entries()) {
    const goesOn = messages.every((each, at) => {
      const asked = step.raw_prompt[at];
      return asked?.role === each.role && asked.content === each.content;
    });
    // the column of replies holds their texts, the prompts behind them what they call
    const sentBack = step.raw_prompt.slice(0, messages.length).map((each, at) => withWeight(each, messages[at]?.weight));
    if (!goesOn)
      return {
        kind: 'refused',
        reason: `raw_prompt of its step ${i + 2} does not continue the one before, so it is no one chat; leave the trajectory out, or export events (jsonl)`,
      };
    messages = [...sentBack, ...step.raw_prompt.slice(messages.length), replyOf(step)];
  }
  if (last.response_text === '' && opening.tools)
    return {
      kind: 'refused',
      reason:
        'response_text of its last step is empty: a reply that calls tools and nothing else is not in the file, so leave the trajectory out, or export events (jsonl)',
    };
  const led = openingOf(opening.raw_prompt);
  const facts: ChatFacts = {
    ...(led ? { opening: led } : {}),
    environment: environment ?? last.data_source,
    alias: last.extra_info.task_alias,
    tools: opening.tools,
    reward: null,
    success: last.success ?? null,
    outcome: last.outcome,
    policy: { policyId: last.policy_id, version: last.param_version_start },
    rewards: [
      ...steps.flatMap((step, i) => step.rewards.map((each) => ({ ...each, turn: i }))),
      ...last.trajectory_rewards.map((each) => ({ ...each, turn: null })),
    ],
  };
  const read = chatEpisode(messages.slice(led?.messages.length ?? 0), facts, namesIn('raw_prompt'));
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i) => ({ ...turn, ...tokensOf(steps[i]) }));
  return { kind: 'episode', episode: { ...read.episode, turns } };
}

/** What a prompt with replies opens a task with, which are no steps: the instruction first, the observation behind the last of them. */
function openingOf(prompt: Chat): ChatFacts['opening'] {
  const replied = prompt.findLastIndex(({ role }) => role === 'assistant');
  if (replied < 0) return undefined;
  const read = policyMessages(prompt);
  const spoken = read.findIndex(({ role }) => role !== 'system');
  return {
    instruction: joinedTexts(read.slice(0, spoken)),
    firstObservation: joinedTexts(read.slice(replied + 1)),
    messages: prompt,
  };
}

/** A reply that nothing was sampled for, or that the policy's context took, is context. */
function replyOf({ response_text: content, response_mask: mask, policy_id: policy }: Row): Chat[number] {
  const shown = policy.endsWith(':context') || (mask && mask.length > 0 && !mask.includes(1));
  return { role: 'assistant', content, ...(shown ? { weight: 0 } : {}) };
}

function withWeight(message: Chat[number], weight: number | null | undefined): Chat[number] {
  return weight === undefined ? message : { ...message, weight };
}

function tokensOf(step: Row | undefined): Pick<EpisodeTurn, 'tokens'> {
  const { responses, response_mask: mask, rollout_log_probs: logProbs } = step ?? {};
  const sampled = <T>(values: readonly T[]) => values.filter((_, i) => mask?.[i] === 1);
  const ids = sampled(responses ?? []);
  return ids.length === 0 ? {} : { tokens: { ids, logProbs: logProbs ? sampled(logProbs) : null } };
}

const singleRow = z.looseObject({
  input: z.string(),
  output: z.string(),
  score: z.number().nullish(),
  step: z.number().int().nonnegative().nullish(),
  uid: z.string().nullish(),
});
/** The fields that `parseVerlRow` reads. */
export const VERL_FIELDS = Object.keys(singleRow.shape);

/**
 * Reads a line of verl's rollout dumps (`trainer.rollout_data_dir`): the prompt as a text, the reply, its score, and the step of
 * the training, which is the version of the policy. Rows of one `uid`, or else of one prompt, are rollouts of one task. The
 * replies are context: with tools they hold what those said, and a dump has no mask that tells the two apart.
 */
export function parseVerlRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = singleRow.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { input, output, score, step, uid } = parsed.data;
  const read = chatEpisode(
    [
      { role: 'user', content: input },
      { role: 'assistant', content: output, weight: 0 },
    ],
    {
      environment: environment ?? 'verl',
      reward: score ?? null,
      policy: { policyId: 'verl', version: step ?? 0 },
      ...(uid ? { alias: uid } : {}),
    },
  );
  return withNotes(read, [{ kind: 'reply-without-mask', field: null }, ...unreadNotes(parsed.data, VERL_FIELDS)]);
}
