import { z } from 'zod';
import { BEYOND_FLOAT32, fitsFloat32 } from '../../../../domain/float32.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type Chat, chat, chatEpisode, refusedShape } from './chat-episode.ts';
import { type ItemForm, isObject } from './item-of-file.ts';
import { chatNotes, offeredTools } from './messages-row.ts';
import { readItems } from './read-items.ts';

const count = z.number().int().nonnegative();
const node = z.looseObject({
  parent: count.nullish(),
  message: chat.element,
  sampled: z.boolean().nullish(),
  token_ids: z.array(count).nullish(),
  mask: z.array(z.boolean()).nullish(),
  logprobs: z.array(z.number().refine(fitsFloat32, BEYOND_FLOAT32)).nullish(),
});
const usage = z.looseObject({ prompt_tokens: count, completion_tokens: count, cached_input_tokens: count.nullish() });
const call = z.looseObject({ node: count.nullish(), finish_reason: z.string().nullish(), usage: usage.nullish() });
const trace = z.looseObject({
  id: z.string().min(1),
  task: z.looseObject({ type: z.string().min(1), data: z.looseObject({ idx: z.number(), name: z.string().nullish() }) }),
  nodes: z.array(node),
  agent: z.looseObject({ model: z.string().min(1) }).nullish(),
  run: z.looseObject({ type: z.string(), step: count.nullish() }).nullish(),
  tools: z.array(z.unknown()).nullish(),
  calls: z.array(call).nullish(),
  rewards: z.record(z.string().min(1), z.number()).nullish(),
  errors: z.array(z.unknown()).nullish(),
  stop_condition: z.string().nullish(),
});
type Trace = z.infer<typeof trace>;
type Node = z.infer<typeof node>;

const READ = [
  'id',
  'task',
  'nodes',
  'agent',
  'run',
  'tools',
  'calls',
  'rewards',
  'errors',
  'stop_condition',
  'version',
  'is_completed',
];
/** What of a task is in its messages. */
const SHOWN = ['idx', 'name', 'prompt', 'system_prompt', 'timeout', 'resources'];
const LIMITS = [
  ...['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens'],
  ...['context_length', 'harness_timeout'],
];

/** Traces of verifiers 1.x, as evaluations and trainers append them to `traces.jsonl`. */
export const verifiersTracesForm = {
  name: 'verifiers-traces',
  importer: 'verifiers-traces/1',
  title: 'traces of verifiers',
  policyId: 'verifiers',
  notKept: 'metrics, answers of tasks, times, settings of models, token ids of prompts, and branches beside the last one',
  recognizes: (first) => Array.isArray(first.nodes) && isObject(first.task) && isObject(first.task.data),
  items: (path, { environment }, hash) =>
    readItems(path, hash, Object.keys(trace.shape), (value) => parseTrace(value, environment)),
  parse: parseTrace,
} as const satisfies ItemForm;

/**
 * Reads the last branch of a trace: replies that a model sampled, with token ids, log-probabilities and usage, among the messages that it was
 * shown. Each reward is one of the whole; the training step of a trace is the version of its policy.
 */
function parseTrace(value: unknown, environment: string | null): ParsedItem {
  const parsed = trace.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { task, nodes, agent, run, tools, calls, rewards } = parsed.data;
  const forward = nodes.findIndex(({ parent }, place) => typeof parent === 'number' && parent >= place);
  if (forward >= 0) return { kind: 'refused', reason: `nodes.${forward}.parent: is no node before it` };
  const parents = new Set(nodes.map(({ parent }) => parent));
  const leaves = nodes.flatMap((_, place) => (parents.has(place) ? [] : [place]));
  const path = pathTo(nodes, leaves.at(-1));
  const replies = path.filter(({ message }) => message.role === 'assistant');
  if (!replies.some(({ sampled }) => sampled)) return { kind: 'no-conversation' };
  const messages: Chat = path.map(({ message, sampled }) => ({ ...message, weight: sampled ? 1 : 0 }));
  const notes: RowNote[] = [
    ...characterNotes(value),
    ...unreadNotes(parsed.data, READ),
    ...unreadNotes(task.data, SHOWN, 'task.data.'),
    ...leaves.slice(1).map((): RowNote => ({ kind: 'part-not-read', field: 'branch beside the last one' })),
    ...chatNotes(path.map(({ message }) => message)),
    ...replies.filter(({ sampled }) => sampled).flatMap(tokenLosses),
  ];
  const facts = {
    environment: environment ?? task.type,
    alias: `${environment === null ? '' : `${task.type} `}${task.data.name || task.data.idx}`, // tasks of two types may share an index
    tools: offeredTools.parse(tools?.map((each) => ({ type: 'function', function: each }))),
    rewards: Object.entries(rewards ?? {}).map(([component, amount]) => ({ component, value: amount, turn: null })),
    outcome: outcomeOf(parsed.data),
    ...(agent ? { policy: { policyId: agent.model, version: (run?.type === 'train' && run.step) || 0 } } : {}),
  };
  const names = { all: 'nodes', at: (place: number) => `nodes.${nodes.indexOf(path[place] as Node)}.message` };
  const read = withNotes(chatEpisode(messages, facts, names), notes);
  if (read.kind !== 'episode') return read;
  const usages = new Map(calls?.map(({ node: of, usage: used }) => [of, used]));
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => {
    const reply = replies[i] as Node; // a turn of the episode is a reply of the path
    const used = usages.get(nodes.indexOf(reply));
    return {
      ...turn,
      ...tokensOf(reply),
      ...(used && {
        usage: { promptTokens: used.prompt_tokens + (used.cached_input_tokens ?? 0), completionTokens: used.completion_tokens },
      }),
    };
  });
  return { ...read, episode: { ...read.episode, turns } };
}

/** The nodes from a root to a leaf. */
function pathTo(nodes: readonly Node[], leaf: number | undefined): readonly Node[] {
  const path: Node[] = [];
  for (let at: number | null | undefined = leaf; typeof at === 'number'; at = nodes[at]?.parent) path.unshift(nodes[at] as Node);
  return path;
}

/** The sampled tokens of a reply; what its template adds is not among them. */
function tokensOf({ token_ids: all, mask, logprobs }: Node): Pick<EpisodeTurn, 'tokens'> {
  const ids = (all ?? []).filter((_, place) => mask?.[place]);
  return ids.length === 0 ? {} : { tokens: { ids, logProbs: logprobs?.length === ids.length ? logprobs : null } };
}

/** Names what of the tokens of a reply is not kept. */
function tokenLosses(reply: Node): readonly RowNote[] {
  const { tokens } = tokensOf(reply);
  const unread = (field: string): RowNote => ({ kind: 'field-not-read', field: `nodes[].${field}` });
  return [
    ...(reply.token_ids?.length && !tokens ? [unread('token_ids without a mask')] : []),
    ...(reply.logprobs?.length && !tokens?.logProbs ? [unread('logprobs that are not one for each sampled token')] : []),
  ];
}

function outcomeOf({ errors, stop_condition: stopped, calls }: Trace): 'failed' | 'truncated' | 'terminated' {
  if (errors && errors.length > 0) return 'failed';
  const isCut = LIMITS.includes(stopped ?? '') || calls?.findLast(({ error }) => !error)?.finish_reason === 'length';
  return isCut ? 'truncated' : 'terminated';
}
