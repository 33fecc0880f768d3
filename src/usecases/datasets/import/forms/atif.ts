import { z } from 'zod';
import { BEYOND_FLOAT32, fitsFloat32 } from '../../../../domain/float32.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type Chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, isObject } from './item-of-file.ts';
import { chatNotes, offeredTools } from './messages-row.ts';
import { readItems } from './read-items.ts';

const part = z.looseObject({ type: z.string(), text: z.string().nullish() });
const content = z.union([z.string(), z.array(part)]);
const ids = z.array(z.number().int().nonnegative()).nullish();
const step = z.looseObject({
  step_id: z.number().int(),
  source: z.enum(['system', 'user', 'agent']),
  message: content.nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ tool_call_id: z.string().nullish(), function_name: z.string(), arguments: z.unknown() }))
    .nullish(),
  observation: z
    .looseObject({ results: z.array(z.looseObject({ source_call_id: z.string().nullish(), content: content.nullish() })) })
    .nullish(),
  metrics: z
    .looseObject({
      prompt_tokens: z.number().int().nullish(),
      completion_tokens: z.number().int().nullish(),
      completion_token_ids: ids,
      logprobs: z.array(z.number().refine(fitsFloat32, BEYOND_FLOAT32)).nullish(),
    })
    .nullish(),
  is_copied_context: z.boolean().nullish(),
});
/** What our own files say under `extra.espalier`. */
const own = z.object({
  environment: z.string().min(1),
  alias: z.string().min(1),
  goal: z.string().default(''),
  policy: z.object({ id: z.string().min(1), version: z.number().int() }),
  outcome: z.enum(['terminated', 'truncated', 'failed', 'cancelled']),
  success: z.boolean().nullable(),
  opening: z.object({ instruction: z.string(), observation: z.string() }).optional(),
  rewards: z.array(z.object({ component: z.string().min(1), value: z.number(), step: z.number().int().nullable() })),
});
const trajectory = z.looseObject({
  schema_version: z.string().regex(/^ATIF-v1\.\d+$/, 'is no version of ATIF 1'),
  agent: z.looseObject({
    name: z.string().min(1),
    version: z.string().nullish(),
    model_name: z.string().nullish(),
    tool_definitions: offeredTools,
  }),
  steps: z.array(step),
  extra: z.looseObject({ espalier: own.optional(), reward: z.number().nullish() }).nullish(),
  subagent_trajectories: z.array(z.unknown()).nullish(),
});
type Step = z.infer<typeof step>;

/** Reads trajectories of ATIF 1.x: one per line, or the file that Harbor writes (`trajectory.json`). */
export const readAtif: ItemForm['items'] = async function* items(path, { environment }, hash) {
  yield* readItems(path, hash, Object.keys(trajectory.shape), (value) => parseAtif(value, environment));
};

/**
 * Reads one trajectory. What the system says before the agent is the instruction, what the user says the first observation; each
 * step of the agent is a step, the results of its observation and what the system and the user say behind it are what followed. What
 * a step of the system or the user shows is a message of the user. A step that was copied as context is not trained on; where a file
 * of ours says how a task opens, what comes before its first recorded step is its first prompt. Token ids and log-probabilities of
 * replies are kept.
 */
export function parseAtif(value: unknown, environment: string | null): ParsedItem {
  const { value: given } = wellFormed(value);
  const parsed = trajectory.safeParse(given);
  if (!parsed.success) return refusedShape(parsed.error);
  const { agent, steps, extra, subagent_trajectories: others } = parsed.data;
  if (others && others.length > 0)
    return {
      kind: 'refused',
      reason: 'subagent_trajectories: a trajectory of several agents has no form here; write each as a row of its own',
    };
  const picture = steps.findIndex((each) =>
    [each.message, ...(each.observation?.results ?? []).map((result) => result.content)].some(hasPicture),
  );
  if (picture >= 0)
    return {
      kind: 'refused',
      reason: `steps.${picture}: shows a picture; an import takes texts alone, so leave the trajectory out, or export events (jsonl)`,
    };
  const said = extra?.espalier;
  const from = said?.opening ? Math.max(0, steps.findIndex(isStepOfOurs)) : 0;
  const path = steps.slice(from);
  const replies = path.filter(({ source }) => source === 'agent');
  const uneven = replies.find(
    ({ metrics }) =>
      metrics?.completion_token_ids && metrics.logprobs && metrics.logprobs.length !== metrics.completion_token_ids.length,
  );
  if (uneven)
    return {
      kind: 'refused',
      reason: `step ${uneven.step_id}: ${uneven.metrics?.completion_token_ids?.length} completion_token_ids and ${uneven.metrics?.logprobs?.length} logprobs; give one of each`,
    };
  const messages = path.flatMap((each) => messagesOf(each, said !== undefined));
  const policy = said
    ? { policyId: said.policy.id, version: said.policy.version }
    : { policyId: agent.model_name ?? agent.name, version: 0 };
  const facts = {
    environment: environment ?? said?.environment ?? agent.name,
    reward: said ? null : (extra?.reward ?? null),
    policy,
    tools: agent.tool_definitions,
    ...(said?.opening ? { opening: openingOf(said.opening, steps.slice(0, from)) } : {}),
    ...(said ? { alias: said.alias, goal: said.goal, success: said.success, outcome: said.outcome } : {}),
    ...(said ? { rewards: said.rewards.map(({ component, value, step: at }) => ({ component, value, turn: at })) } : {}),
  };
  const read = chatEpisode(messages, facts, namesIn('steps'));
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => ({ ...turn, ...tokensOf(replies[i]) }));
  const notes = [...lossesOf(parsed.data, given), ...chatNotes(messages)];
  return withNotes({ kind: 'episode', episode: { ...read.episode, turns } }, notes);
}

function openingOf({ instruction, observation }: { instruction: string; observation: string }, steps: readonly Step[]) {
  return { instruction, firstObservation: observation, messages: steps.flatMap((each) => messagesOf(each, true)) };
}

/** Whether a step is one on record, by what our own files say of each. */
function isStepOfOurs({ extra }: Step): boolean {
  return isObject(extra) && typeof extra.step_id === 'string';
}

const TRAJECTORY_READ = [
  ...['schema_version', 'session_id', 'trajectory_id', 'agent', 'steps', 'final_metrics', 'extra'],
  'subagent_trajectories',
];
const OWN_READ = ['run', 'task', 'fingerprint', ...Object.keys(own.shape)];
const STEP_READ = ['step_id', 'source', 'message', 'observation', 'is_copied_context', 'extra'];
const REPLY_READ = [...STEP_READ, 'reasoning_content', 'tool_calls', 'metrics'];
const METRICS_READ = ['prompt_tokens', 'completion_tokens', 'completion_token_ids', 'logprobs'];

/** Names what of a trajectory is not kept. @param given the trajectory with the fields that nobody declared. */
function lossesOf({ agent, steps, extra }: z.infer<typeof trajectory>, given: unknown): readonly RowNote[] {
  const own = isObject(given) && isObject(given.extra) ? given.extra.espalier : undefined;
  return [
    ...unreadNotes(given, TRAJECTORY_READ),
    ...unreadNotes(agent, ['name', 'version', 'model_name', 'tool_definitions'], 'agent.'),
    ...unreadNotes(extra, ['espalier', 'reward'], 'extra.'),
    ...unreadNotes(own, OWN_READ, 'extra.espalier.'),
    ...steps.flatMap((each) => stepLosses(each, own !== undefined, agent.model_name)),
  ];
}

function stepLosses(each: Step, isOwn: boolean, model: string | null | undefined): readonly RowNote[] {
  const { source, metrics, tool_calls: calls, observation, extra } = each;
  const isReply = source === 'agent';
  const unread = (field: string): RowNote => ({ kind: 'field-not-read', field: `steps[].${field}` });
  const { prompt_tokens: prompt, completion_tokens: completion, completion_token_ids: found, logprobs } = metrics ?? {};
  const isExecuted = isObject(extra) && extra.executable === true; // as every step of an import is
  return [
    ...unreadNotes(
      each,
      [...(isReply ? REPLY_READ : STEP_READ), ...(each.model_name === model || each.is_copied_context ? ['model_name'] : [])],
      'steps[].',
    ),
    ...(isReply ? unreadNotes(metrics, METRICS_READ, 'steps[].metrics.') : []),
    ...(isReply && logprobs && logprobs.length > 0 && !found?.length
      ? [unread('metrics.logprobs without completion_token_ids')]
      : []),
    ...(isReply && typeof prompt === 'number' && typeof completion !== 'number' ? [unread('metrics.prompt_tokens')] : []),
    ...(isReply && typeof completion === 'number' && typeof prompt !== 'number' ? [unread('metrics.completion_tokens')] : []),
    ...(calls ?? []).flatMap((call) =>
      unreadNotes(call, ['tool_call_id', 'function_name', 'arguments'], 'steps[].tool_calls[].'),
    ),
    ...unreadNotes(observation, ['results'], 'steps[].observation.'),
    ...(observation?.results ?? []).flatMap((result) =>
      unreadNotes(
        result,
        ['content', ...(isReply ? ['source_call_id'] : []), ...(isOwn ? ['extra'] : [])],
        'steps[].observation.results[].',
      ),
    ),
    ...unreadNotes(extra, isOwn ? ['step_id', 'action', 'name', ...(isExecuted ? ['executable'] : [])] : [], 'steps[].extra.'),
  ];
}

/** @param isOwn whether our own files wrote it, where `extra` names who speaks. */
function messagesOf(step: Step, isOwn: boolean): Chat {
  const { source, message, reasoning_content: thought, tool_calls: calls, observation, is_copied_context: copied } = step;
  const said = textOf(message);
  const hasCalls = source === 'agent' && calls != null && calls.length > 0;
  const namedIn = ({ extra }: Readonly<Record<string, unknown>>) =>
    isOwn && isObject(extra) && typeof extra.name === 'string' ? { name: extra.name } : {};
  const results = (observation?.results ?? []).map((result) => {
    const { source_call_id: of, content: shown } = result;
    const isOfCall = hasCalls || (source === 'agent' && of != null);
    // else what the environment, or a program, showed besides
    const answers = of && isOfCall ? { tool_call_id: of } : {};
    return { role: isOfCall ? 'tool' : 'user', content: textOf(shown), ...answers, ...namedIn(result) };
  });
  if (source !== 'agent')
    return [{ role: source, content: said, ...namedIn(step) }, ...results].filter(({ content: text }) => text !== '');
  const reply = {
    role: 'assistant',
    content: said,
    ...(thought ? { reasoning_content: thought } : {}),
    ...(hasCalls
      ? { tool_calls: calls.map((call) => ({ id: call.tool_call_id, name: call.function_name, arguments: call.arguments })) }
      : {}),
    ...(copied === true ? { weight: 0 } : {}),
    ...namedIn(step),
  };
  return [reply, ...results];
}

function tokensOf(reply: Step | undefined): Pick<EpisodeTurn, 'tokens' | 'usage'> {
  const { completion_token_ids: found, logprobs, prompt_tokens: prompt, completion_tokens: completion } = reply?.metrics ?? {};
  return {
    ...(found && found.length > 0 ? { tokens: { ids: found, logProbs: logprobs ?? null } } : {}),
    ...(typeof prompt === 'number' && typeof completion === 'number'
      ? { usage: { promptTokens: prompt, completionTokens: completion } }
      : {}),
  };
}

function hasPicture(given: z.infer<typeof content> | null | undefined): boolean {
  return Array.isArray(given) && given.some(({ type }) => type !== 'text');
}

function textOf(given: z.infer<typeof content> | null | undefined): string {
  if (typeof given === 'string') return given;
  return (given ?? []).map(({ text }) => text ?? '').join('');
}
