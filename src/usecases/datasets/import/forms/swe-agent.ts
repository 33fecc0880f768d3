import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { chat, chatEpisode, MESSAGE_FIELDS, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, isObject } from './item-of-file.ts';
import { chatNotes } from './messages-row.ts';
import { readItems } from './read-items.ts';

const step = z.looseObject({ observation: z.string().nullish() });
const said = z.looseObject({
  role: z.string(),
  agent: z.string().nullish(),
  is_demo: z.boolean().nullish(),
  tool_call_ids: z.array(z.string()).nullish(),
  thinking_blocks: z.array(z.looseObject({ thinking: z.string().nullish() })).nullish(),
});
const trajectory = z.looseObject({
  trajectory: z.array(step),
  history: z.array(said),
  info: z.looseObject({ exit_status: z.union([z.string(), z.number()]).nullish() }),
  replay_config: z.unknown(),
});
type Said = z.infer<typeof said>;
const READ = ['trajectory', 'history', 'replay_config'];
const MESSAGE_READ = [...MESSAGE_FIELDS, 'agent', 'is_demo', 'tool_call_ids', 'thinking_blocks'];

/** Trajectories of SWE-agent (`.traj`) and mini-SWE-agent (`.traj.json`): a file each, or one per line. */
export const sweAgentForm = {
  name: 'swe-agent',
  importer: 'swe-agent/2',
  title: 'SWE-agent',
  policyId: 'swe-agent',
  notKept: 'actions as they were parsed, states, times, the patch, costs, and prompts that a history processor shortened',
  recognizes: (first) =>
    isMini(first) || (Array.isArray(first.trajectory) && Array.isArray(first.history) && isObject(first.info)),
  items: (path, { environment }, hash) =>
    readItems(path, hash, [...READ, ...MINI_READ], (value) =>
      isMini(value) ? parseMini(value, environment) : parseSweAgent(value, environment),
    ),
} as const satisfies ItemForm;

/**
 * Reads a trajectory by its history. What followed the last reply is the observation of the last step. Demonstrations are context,
 * messages of another agent than the first one that replies are left out. The file holds no reward: patches are evaluated later.
 * Task and model are named by `replay_config`.
 */
export function parseSweAgent(value: unknown, environment: string | null): ParsedItem {
  const parsed = trajectory.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { trajectory: steps, history, info, replay_config: config } = parsed.data;
  const notes: RowNote[] = [...unreadNotes(parsed.data, [...READ, 'info']), ...unreadNotes(info, ['exit_status'], 'info.')];
  const main = history.find(({ role, is_demo: demo }) => role === 'assistant' && !demo)?.agent;
  const own = history.filter(({ agent }) => agent === main || !agent || !main);
  if (own.length < history.length) notes.push({ kind: 'sidechain-left-out', field: null });
  const last = own.at(-1);
  const observation = steps.at(-1)?.observation;
  const end = last?.role === 'assistant' && observation ? [followUp(last, observation)] : [];
  const messages = chat.safeParse([...own.map((each) => chatMessage(each, notes)), ...end]);
  if (!messages.success) return refusedShape(messages.error);
  for (const each of steps) for (const one of unreadNotes(each, STEP_READ, 'trajectory[].')) notes.push(one);
  const { alias, model } = namesOf(config);
  const read = chatEpisode(
    messages.data,
    {
      environment: environment ?? 'swe-agent',
      ...(alias === null ? {} : { alias }),
      outcome: outcomeOf(info.exit_status),
      policy: { policyId: model ?? 'swe-agent', version: 0 },
    },
    namesIn('history'),
  );
  return withNotes(read, notes);
}

function isMini(value: unknown): boolean {
  return isObject(value) && String(value.trajectory_format).startsWith('mini-swe-agent') && Array.isArray(value.messages);
}

const miniTrajectory = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })),
  info: z.looseObject({
    exit_status: z.string().nullish(),
    config: z.looseObject({ model: z.looseObject({ model_name: z.string().nullish() }).nullish() }).nullish(),
  }),
  instance_id: z.string().nullish(),
});
const MINI_READ = ['messages', 'instance_id', 'trajectory_format'];

/** Reads a trajectory of mini-SWE-agent by its messages; the last one says how it ended (`exit`), which was shown to no model. */
function parseMini(value: unknown, environment: string | null): ParsedItem {
  const parsed = miniTrajectory.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { messages: given, info, instance_id: alias } = parsed.data;
  const messages = chat.safeParse(given.filter(({ role }) => role !== 'exit'));
  if (!messages.success) return refusedShape(messages.error);
  const { exit_status: status, config } = info;
  const read = chatEpisode(messages.data, {
    environment: environment ?? 'swe-agent',
    ...(alias ? { alias } : {}),
    outcome: !status || status === 'Submitted' ? 'terminated' : /Exceeded$/.test(status) ? 'truncated' : 'failed',
    policy: { policyId: config?.model?.model_name ?? 'mini-swe-agent', version: 0 },
  });
  return withNotes(read, [
    ...chatNotes(messages.data),
    ...unreadNotes(parsed.data, [...MINI_READ, 'info']),
    ...unreadNotes(info, ['exit_status', 'config'], 'info.'),
  ]);
}

/** What a step repeats of the history. */
const STEP_READ = ['observation', 'response', 'query', 'message', 'messages'];

function chatMessage(each: Said, notes: RowNote[]): object {
  const { tool_call_ids: ids, thinking_blocks: blocks, is_demo: demo, agent: _agent, ...message } = each;
  for (const one of unreadNotes(each, MESSAGE_READ, 'history[].')) notes.push(one);
  const thought = (blocks ?? []).flatMap(({ thinking }) => (thinking ? [thinking] : [])).join('\n');
  if (blocks && blocks.length > 0 && thought === '') notes.push({ kind: 'part-not-read', field: 'thinking' }); // encrypted
  if (ids && ids.length > 1) notes.push({ kind: 'field-not-read', field: 'history[].tool_call_ids of further calls' });
  return {
    ...message,
    ...(ids?.[0] && each.role !== 'assistant' ? { tool_call_id: ids[0] } : {}),
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(demo && each.role === 'assistant' ? { weight: 0 } : {}),
  };
}

/** Makes the message that would have followed the last reply. */
function followUp(last: Said, content: string): object {
  const calls = Array.isArray(last.tool_calls) ? last.tool_calls : [];
  const [call] = calls;
  return isObject(call) && typeof call.id === 'string'
    ? { role: 'tool', content, tool_call_id: call.id }
    : { role: 'user', content };
}

/** `submitted (exit_cost)` is a patch that was taken when a limit ended the rollout. */
function outcomeOf(status: string | number | null | undefined): 'terminated' | 'truncated' | 'failed' {
  if (typeof status !== 'string' || status === 'submitted' || status === 'exit_forfeit') return 'terminated';
  return /exit_(cost|context|total_execution_time|command_timeout)/.test(status) ? 'truncated' : 'failed';
}

function namesOf(config: unknown): { readonly alias: string | null; readonly model: string | null } {
  const { problem_statement: problem, agent } = parsedObject(config);
  const model = isObject(agent) && isObject(agent.model) ? agent.model.name : null;
  const alias = isObject(problem) ? problem.id : null;
  return {
    alias: typeof alias === 'string' && alias !== '' ? alias : null,
    model: typeof model === 'string' && model !== '' ? model : null,
  };
}

/** Returns the settings of a run, which are written as the JSON of them. */
function parsedObject(config: unknown): Readonly<Record<string, unknown>> {
  if (isObject(config)) return config;
  if (typeof config !== 'string') return {};
  try {
    const read: unknown = JSON.parse(config);
    return isObject(read) ? read : {};
  } catch {
    return {}; // of a version that wrote YAML
  }
}
