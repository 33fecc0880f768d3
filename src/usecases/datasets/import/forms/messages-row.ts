import { z } from 'zod';
import { messageText } from '../../../../domain/prompts/same-message.ts';
import { callsOf } from '../../../../domain/prompts/served-message.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type ParsedItem, parseAgentTrajItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import {
  type Chat,
  type ChatFacts,
  chat,
  chatEpisode,
  isStructuredChat,
  MESSAGE_FIELDS,
  policyMessages,
  refusedShape,
} from './chat-episode.ts';
import { isObject } from './item-of-file.ts';

/** `metadata` of our own files, of this version (`scores`, `result`) and of those before (`return`, `success`). */
const ours = z.object({
  task: z.object({ alias: z.string().min(1), goal: z.string().default('') }),
  environment: z.object({ name: z.string().min(1) }),
  policy: z.object({ id: z.string().min(1), version: z.number().int() }),
  result: z.enum(['success', 'failure', 'unknown']).optional(),
  success: z.boolean().nullish(),
  scores: z.array(z.object({ name: z.string(), value: z.number() })).optional(),
  return: z.number().optional(),
  rewards: z.unknown().optional(),
});

function isList(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Schemas of tools: a list, or the JSON of one. */
export const offeredTools = z
  .union([
    z.array(z.unknown()).transform((list) => JSON.stringify(list)),
    z.string().refine(isList, 'must be the JSON of a list of tools'),
  ])
  .nullish()
  .transform((text) => (text && text.trim() !== '' && text.trim() !== '[]' ? text : null));
const row = z.looseObject({
  messages: chat,
  tools: offeredTools,
  metadata: z.unknown().optional(),
  id: z.union([z.string(), z.number()]).optional(),
});
const shared = z.looseObject({
  conversations: z.array(z.looseObject({ from: z.string(), value: z.string(), loss: z.boolean().nullish() })).nullish(),
  item_id: z.string().min(1).optional(),
  id: z.union([z.string(), z.number()]).optional(),
  system: z.string().nullish(),
  tools: offeredTools,
  reward: z.number().nullish(),
  success: z.union([z.boolean(), z.literal(0), z.literal(1)]).nullish(),
  metadata: z.unknown().optional(),
});

/** Reads `{"messages": […]}`: our own file, one of OpenAI's fine-tuning, or any chat. Other fields are passed over, and noted. */
export function parseMessagesRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { messages, tools, metadata, id } = parsed.data;
  return withNotes(chatEpisode(messages, { ...factsOf(metadata, id, environment), tools }), [
    ...chatNotes(messages),
    ...unreadNotes(parsed.data, [...MESSAGES, ...readMetadata(metadata)]),
  ]);
}

const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  user: 'user',
  observation: 'tool',
  tool: 'tool',
  function: 'tool',
  system: 'system',
  gpt: 'assistant',
  assistant: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  function_call: 'assistant',
};

const MESSAGES = ['messages', 'tools', 'id'];
/** The columns that `parseMessagesRow` reads. */
export const MESSAGES_COLUMNS = [...MESSAGES, 'metadata'];

const SHARED = ['conversations', 'tools', 'item_id', 'id', 'system', 'reward', 'success'];
const MEDIA_COLUMNS = ['images', 'image', 'videos', 'audios'];
/** The columns that `parseShareGptRow` and `parseAgentTrajRow` read. */
export const SHARED_COLUMNS = [...SHARED, 'metadata', ...MEDIA_COLUMNS];
const FUNCTION_CALL: RowNote = { kind: 'role-not-kept', field: 'function_call' };

/** Reads a ShareGPT conversation, `loss: false` on replies that are context. */
export function parseShareGptRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = shared.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { conversations, item_id: item, id, system, tools, reward, success, metadata } = parsed.data;
  if (!conversations) return { kind: 'no-conversation' };
  const stranger = conversations.findIndex(({ from }) => ROLES[from] === undefined);
  if (stranger >= 0)
    return {
      kind: 'refused',
      reason: `conversations.${stranger}.from: ${JSON.stringify(conversations[stranger]?.from)} is none of ${Object.keys(ROLES).join(', ')}`,
    };
  const shown = placeOfPicture(value);
  if (shown !== null) return { kind: 'refused', reason: shown };
  const messages = conversations.map((each) => ({
    role: ROLES[each.from] ?? '',
    content: each.value,
    ...(each.from === 'function_call' ? functionCalls(each.value) : {}),
    ...(each.loss === false ? { weight: 0 } : {}),
  }));
  const before = system ? 1 : 0;
  const said = system ? [{ role: 'system', content: system }, ...messages] : messages;
  const names = { all: 'conversations', at: (place: number) => `conversations.${place - before}` };
  const facts = factsOf(metadata, item ?? id, environment);
  const known = success === null || success === undefined ? {} : { success: Boolean(success) };
  const scored = typeof reward === 'number' ? { reward } : {};
  return withNotes(chatEpisode(said, { ...facts, ...known, ...scored, tools }, names), [
    ...(conversations.some(({ from, value: called }) => from === 'function_call' && !functionCalls(called))
      ? [FUNCTION_CALL]
      : []),
    ...turnNotes(parsed.data),
    ...chatNotes(said),
    ...unreadNotes(parsed.data, [...SHARED, ...readMetadata(metadata)]),
  ]);
}

/**
 * Says why a conversation whose pictures are in a column of the row cannot be taken: its texts hold marks in their places, which
 * would stay as texts. Null where it shows none.
 */
function placeOfPicture(row: unknown): string | null {
  if (!isObject(row) || !Array.isArray(row.conversations)) return null;
  const held = MEDIA_COLUMNS.map((name) => row[name]).some((column) =>
    Array.isArray(column) ? column.length > 0 : Boolean(column),
  );
  if (!held) return null;
  const marked = row.conversations.findIndex(
    (turn) => isObject(turn) && typeof turn.value === 'string' && MEDIA.test(turn.value),
  );
  return `conversations.${Math.max(0, marked)}.value: shows a picture or another medium of the row; an import takes texts alone, so leave the row out, or export events (jsonl)`;
}

const MEDIA = /<(?:image|video|audio)>/;
const THOUGHT = /^<think>\n?([\s\S]*?)\n?<\/think>\s*/;
const calledTool = z.looseObject({ name: z.string().min(1), arguments: z.unknown() });

/** Reads what LLaMA-Factory writes as `function_call`: a call of a tool or a list of them as JSON, behind a thought. Null for another text. */
function functionCalls(text: string): Pick<Chat[number], 'content' | 'reasoning_content' | 'tool_calls'> | null {
  const [before = '', thought] = THOUGHT.exec(text) ?? [];
  try {
    const value: unknown = JSON.parse(text.slice(before.length));
    const calls = z
      .array(calledTool)
      .min(1)
      .parse(Array.isArray(value) ? value : [value]);
    return { content: '', tool_calls: calls, ...(thought ? { reasoning_content: thought } : {}) };
  } catch {
    return null;
  }
}

/**
 * Reads an item of AgentGym, its task and policy as a file of ours says them where it does. Files of versions that had no
 * `scores` are read as they always were: the events of an earlier import stay the same.
 */
export function parseAgentTrajRow(value: unknown, environment: string | null): ParsedItem {
  const shown = placeOfPicture(value);
  if (shown !== null) return { kind: 'refused', reason: shown };
  const own = isObject(value) ? ours.safeParse(value.metadata) : null;
  if (!own?.success || own.data.scores === undefined)
    return withNotes(parseAgentTrajItem(value, environment), [...turnNotes(value), ...unreadNotes(value, SHARED)]);
  const parsed = parseAgentTrajItem(value, environment ?? own.data.environment.name);
  if (parsed.kind !== 'episode') return parsed;
  const { policy, result, task } = own.data;
  const success = parsed.episode.success ?? successOf(result);
  const episode = { ...parsed.episode, success, goal: task.goal, policy: { policyId: policy.id, version: policy.version } };
  return withNotes({ kind: 'episode', episode }, [...turnNotes(value), ...unreadNotes(value, [...SHARED, 'metadata'])]);
}

function turnNotes(row: unknown): readonly RowNote[] {
  const turns: readonly unknown[] = isObject(row) && Array.isArray(row.conversations) ? row.conversations : [];
  return turns.flatMap((turn) => unreadNotes(turn, ['from', 'value', 'loss'], 'conversations[].'));
}

/** What a row says of its task and policy: in `metadata` where it is one of ours. */
function factsOf(metadata: unknown, id: string | number | undefined, environment: string | null): ChatFacts {
  const own = ours.safeParse(metadata);
  const named = environment === null ? {} : { environment };
  if (!own.success) return { ...(id === undefined ? {} : { alias: String(id) }), ...named };
  const { task, environment: recorded, policy, result, success, scores, return: returned } = own.data;
  const [reward = returned ?? null] = (scores ?? []).flatMap(({ name, value }) =>
    name === 'return' || name === 'good' ? [value] : [],
  );
  return {
    environment: recorded.name,
    alias: task.alias,
    goal: task.goal,
    reward,
    success: successOf(result) ?? success ?? null,
    policy: { policyId: policy.id, version: policy.version },
    ...named,
  };
}

/** `metadata` of ours is read; another's may be anything. */
function readMetadata(metadata: unknown): readonly string[] {
  return ours.safeParse(metadata).success ? ['metadata'] : [];
}

function successOf(result: 'success' | 'failure' | 'unknown' | undefined): boolean | null {
  return result === undefined || result === 'unknown' ? null : result === 'success';
}

const SYSTEM = ['system', 'developer'];
const KEPT = ['system', 'developer', 'user', 'assistant', 'tool'];

/** Notes what a chat loses as a trajectory. One of texts alone is replies and one text between them. */
export function chatNotes(messages: Chat): readonly RowNote[] {
  const notes: RowNote[] = [];
  const say = (kind: RowNote['kind'], field: string | null = null) => notes.push({ kind, field });
  const read = policyMessages(messages);
  for (const [i, each] of messages.entries()) {
    if (!KEPT.includes(each.role)) say('role-not-kept', each.role);
    if (typeof each.weight === 'number' && each.weight !== 0 && each.weight !== 1) say('weight-read-as-1');
    for (const note of unreadNotes(each, MESSAGE_FIELDS, 'messages[].')) notes.push(note);
    const message = read[i]!; // one for each
    if (message.role === 'assistant' && callsOf(message).length === 0 && CALLS_AS_TEXT.test(messageText(message)))
      say('calls-as-text');
  }
  if (isStructuredChat(messages)) return notes; // its messages are on record as they are
  const blocks = blocksOf(messages);
  const [opening = [], ...between] = blocks;
  const system = opening.filter(({ role }) => SYSTEM.includes(role));
  const shown = opening.filter(({ role }) => !SYSTEM.includes(role));
  if ([system, shown, ...between].some((block) => block.filter(({ content }) => hasText(content)).length > 1))
    say('messages-joined');
  if (
    opening.findLastIndex(({ role }) => SYSTEM.includes(role)) > opening.findIndex(({ role }) => !SYSTEM.includes(role)) &&
    shown.length > 0
  )
    say('instruction-first');
  if ([shown, ...between.slice(0, -1)].some((block) => block.length === 0)) say('empty-message-added');
  return notes;
}

/** How templates of chats write calls of tools, and JSON of a message with them. */
const CALLS_AS_TEXT =
  /<tool_call>|<function_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|^\s*\{[\s\S]*"tool_calls"\s*:\s*\[|\{"tool_calls":\[/;

/** The messages before the first reply, then those behind each. */
function blocksOf(messages: Chat): readonly Chat[] {
  const blocks: Chat[number][][] = [[]];
  for (const each of messages) {
    if (each.role === 'assistant') blocks.push([]);
    else blocks.at(-1)?.push(each);
  }
  return blocks;
}

function hasText(content: Chat[number]['content']): boolean {
  return content !== null && content !== undefined && content.length > 0;
}

const said = z.union([z.string(), chat]);
const verifiersRow = z.looseObject({
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
  const parsed = verifiersRow.safeParse(wellFormed(value).value);
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
  return withNotes(chatEpisode(messages, facts, names), [...notes, ...unreadNotes(value, READ)]); // as given: `rewards` of others is no list of ours
}

function chatOf(given: string | Chat, role: string): Chat {
  return typeof given === 'string' ? [{ role, content: given }] : given;
}
