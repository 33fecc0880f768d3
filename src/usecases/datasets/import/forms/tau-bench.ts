import { z } from 'zod';
import type { Sha256 } from '../../../../digest/sha256.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { readParsedRows } from '../read-rows.ts';
import { type ChatFacts, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';
import { chatNotes } from './messages-row.ts';

/** Results of tau-bench (an array of simulated conversations) and of tau2-bench (an object with `simulations`). */
export const tauBenchForm = {
  name: 'tau-bench',
  importer: 'tau-bench/1',
  title: 'tau-bench',
  policyId: 'tau-bench',
  notKept:
    'tasks with their right actions, costs, times, and of tau2-bench the policy text and what tools said to the simulated user',
  recognizes: (first) =>
    ('traj' in first && 'task_id' in first) || (Array.isArray(first.simulations) && Array.isArray(first.tasks)),
  items: (path, { environment }, hash) => readResults(path, environment, hash),
} as const satisfies ItemForm;

async function* readResults(path: string, environment: string | null, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  for await (const { line, ...row } of readParsedRows(path, hash, 'null')) {
    if (row.kind === 'refused') yield { line, parsed: row };
    else if (isObject(row.value) && 'simulations' in row.value) yield* simulationsOf(row.value, line, environment);
    else yield { line, parsed: parseTauRow(row.value, environment) };
  }
}

const result = z.looseObject({
  task_id: z.union([z.number(), z.string()]),
  reward: z.number().nullish(),
  traj: z.array(z.looseObject({ role: z.string() })),
});
const RESULT_READ = ['task_id', 'reward', 'traj', 'trial'];

/**
 * Reads a conversation of tau-bench. A reward of 1 is success, as the benchmark counts it. One that failed before its first
 * message, which the benchmark writes with reward 0, holds no conversation.
 */
export function parseTauRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = result.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { task_id: id, reward, traj } = parsed.data;
  if (traj.length === 0) return { kind: 'no-conversation' };
  const messages = chat.safeParse(traj);
  if (!messages.success) return refusedShape(messages.error);
  const facts: ChatFacts = {
    environment: environment ?? 'tau-bench',
    alias: String(id),
    reward: reward ?? null,
    success: isSuccess(reward),
  };
  return withNotes(chatEpisode(messages.data, facts, namesIn('traj')), [
    ...characterNotes(value),
    ...chatNotes(messages.data),
    ...unreadNotes(parsed.data, RESULT_READ),
  ]);
}

function isSuccess(reward: number | null | undefined): boolean | null {
  return typeof reward === 'number' ? Math.abs(reward - 1) <= 1e-6 : null;
}

const info = z.looseObject({
  agent_info: z.looseObject({ llm: z.string().nullish() }).nullish(),
  environment_info: z.looseObject({ domain_name: z.string().nullish() }).nullish(),
});
const count = z.number().int().nonnegative();
const message = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  tool_calls: z.array(z.looseObject({ id: z.string().nullish(), name: z.string(), arguments: z.unknown() })).nullish(),
  id: z.string().nullish(), // of a tool's message: that of the call
  requestor: z.string().nullish(),
  is_audio: z.boolean().nullish(),
  usage: z.looseObject({ prompt_tokens: count, completion_tokens: count }).nullish().catch(null),
});
type Message = z.infer<typeof message>;
const MESSAGE_READ = ['role', 'content', 'tool_calls', 'id', 'requestor', 'is_audio', 'usage', 'turn_idx'];
const simulation = z.looseObject({
  task_id: z.union([z.string(), z.number()]),
  messages: z.array(message),
  termination_reason: z.string().nullish(),
  reward_info: z.looseObject({ reward: z.number().nullish() }).nullish(),
});
const SIMULATION_READ = ['task_id', 'messages', 'termination_reason', 'reward_info', 'trial'];

function* simulationsOf(
  results: Readonly<Record<string, unknown>>,
  line: number,
  environment: string | null,
): Generator<ItemOfFile> {
  const about = info.safeParse(results.info ?? {});
  const simulations = Array.isArray(results.simulations) ? results.simulations : null;
  if (!about.success || !simulations) {
    const parsed = about.success ? { kind: 'refused' as const, reason: 'simulations: is no list' } : refusedShape(about.error);
    yield { line, parsed };
    return;
  }
  const { agent_info: agent, environment_info: world } = about.data;
  const named = environment ?? world?.domain_name ?? 'tau2-bench';
  for (const [i, value] of simulations.entries())
    yield { line: i + 1, parsed: parseSimulation(value, named, agent?.llm ?? 'tau-bench') };
}

/**
 * Reads a simulation of tau2-bench. The greeting that it puts before the first message of the user is context. Calls that the
 * simulated user makes, and their results, are not what the agent was shown: they are left out and noted.
 */
export function parseSimulation(value: unknown, environment: string, model: string): ParsedItem {
  const parsed = simulation.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { task_id: id, messages, termination_reason: reason, reward_info: scored } = parsed.data;
  if (messages.length === 0) return { kind: 'no-conversation' };
  const audio = messages.findIndex((each) => each.is_audio === true);
  if (audio >= 0)
    return {
      kind: 'refused',
      reason: `messages.${audio}: is audio; an import takes texts alone, so leave the simulation out`,
    };
  const notes: RowNote[] = [...characterNotes(value), ...unreadNotes(parsed.data, SIMULATION_READ)];
  for (const each of unreadNotes(scored, ['reward'], 'reward_info.')) notes.push(each);
  const shown = messages.filter((each) => isShown(each, notes));
  const said = chat.safeParse(shown.map((each, i) => chatMessage(each, i, notes)));
  if (!said.success) return refusedShape(said.error);
  const reward = scored?.reward ?? null;
  const read = chatEpisode(
    said.data,
    {
      environment,
      alias: String(id),
      reward,
      success: isSuccess(reward),
      outcome: outcomeOf(reason),
      policy: { policyId: model, version: 0 },
    },
    namesIn('messages'),
  );
  if (read.kind !== 'episode') return read;
  const replies = shown.filter(({ role }) => role === 'assistant');
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => ({ ...turn, ...usageOf(replies[i]) }));
  return withNotes({ kind: 'episode', episode: { ...read.episode, turns } }, notes);
}

function isShown({ role, requestor, content, tool_calls: calls }: Message, notes: RowNote[]): boolean {
  const byUser = (role === 'tool' && requestor === 'user') || (role === 'user' && calls != null && calls.length > 0);
  if (byUser) notes.push({ kind: 'part-not-read', field: 'tool call of the user' });
  return !byUser || (role === 'user' && !!content);
}

function chatMessage(each: Message, place: number, notes: RowNote[]): object {
  const { role, content, tool_calls: calls, id, usage } = each;
  for (const one of unreadNotes(each, MESSAGE_READ, 'messages[].')) notes.push(one);
  return {
    role,
    content: content ?? '',
    ...(role === 'assistant' && calls && calls.length > 0
      ? { tool_calls: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })) }
      : {}),
    ...(role === 'tool' && id ? { tool_call_id: id } : {}),
    ...(role === 'assistant' && place === 0 && !usage ? { weight: 0 } : {}),
  };
}

function outcomeOf(reason: string | null | undefined): 'terminated' | 'truncated' | 'failed' {
  if (!reason || reason.endsWith('_stop')) return 'terminated';
  return reason === 'max_steps' || reason === 'timeout' ? 'truncated' : 'failed';
}

function usageOf(reply: Message | undefined): Pick<EpisodeTurn, 'usage'> {
  const usage = reply?.usage;
  return usage ? { usage: { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } } : {};
}
