import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type Chat, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, isObject } from './item-of-file.ts';
import { type CallOfTrace, longestConversation } from './longest-conversation.ts';
import { chatNotes } from './messages-row.ts';
import { readItems } from './read-items.ts';

const count = z.number().int().nonnegative().nullish();
const observation = z.looseObject({
  id: z.string(),
  type: z.string(),
  startTime: z.string(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  model: z.string().nullish(),
  usageDetails: z.looseObject({ input: count, output: count }).nullish(),
});
const score = z.looseObject({
  name: z.string().min(1),
  value: z.number().nullish(),
  dataType: z.string().nullish(),
  observationId: z.string().nullish(),
  timestamp: z.string().nullish(),
});
const trace = z.looseObject({
  id: z.string().min(1),
  name: z.string().nullish(),
  observations: z.array(observation),
  scores: z.array(score).nullish(),
});
type Observation = z.infer<typeof observation>;

const TRACE_READ = ['id', 'name', 'observations', 'scores', 'input', 'output', 'htmlPath']; // the first and last texts are in observations too
const NUMBERS = ['NUMERIC', 'BOOLEAN'];

/** Traces of Langfuse with their observations, as `GET /api/public/traces/ID` answers each. */
export const langfuseForm = {
  name: 'langfuse',
  importer: 'langfuse/2',
  title: 'Langfuse',
  policyId: 'langfuse',
  notKept: 'costs, times, spans, settings of models, and generations beside the longest conversation of a trace',
  recognizes: (first) => typeof first.id === 'string' && Array.isArray(first.observations),
  items: (path, { environment }, hash) =>
    readItems(path, hash, Object.keys(trace.shape), (value) => parseLangfuseTrace(value, environment)),
} as const satisfies ItemForm;

/**
 * Reads a trace as the longest of its conversations: the messages of a generation with its reply. Scores that are numbers are rewards of
 * their names, those of a generation of the conversation on its reply: of several with one name the last. Other observations are counted.
 */
export function parseLangfuseTrace(value: unknown, environment: string | null): ParsedItem {
  const parsed = trace.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { id, name, observations, scores } = parsed.data;
  const notes: RowNote[] = [...characterNotes(value), ...unreadNotes(parsed.data, TRACE_READ)];
  const calls: CallOfTrace<Observation>[] = [];
  for (const each of observations.toSorted((a, b) => (a.startTime < b.startTime ? -1 : 1))) {
    const found = each.type === 'GENERATION' ? chatOf(each) : null;
    if (found) calls.push({ of: each, chat: found });
    else notes.push({ kind: 'part-not-read', field: `observation ${each.type}` });
  }
  const conversation = longestConversation(calls);
  if (!conversation) return { kind: 'no-conversation' };
  const { longest, turns: onPath, beside } = conversation;
  for (let i = 0; i < beside; i++) notes.push({ kind: 'part-not-read', field: 'generation beside the conversation' });
  const turnOf = new Map([...onPath].flatMap(([turn, made]) => made.map(({ id: of }) => [of, turn] as const)));
  const rewards = new Map<string, { readonly component: string; readonly value: number; readonly turn: number | null }>();
  for (const { name: component, value: amount, dataType, observationId: on } of (scores ?? []).toSorted(byTime)) {
    const turn = on ? turnOf.get(on) : null;
    const key = JSON.stringify([turn, component]);
    const isKept = typeof amount === 'number' && turn !== undefined && (!dataType || NUMBERS.includes(dataType));
    if (!isKept || rewards.has(key)) notes.push({ kind: 'field-not-read', field: `score ${component}` });
    if (isKept) rewards.set(key, { component, value: amount, turn });
  }
  const { model } = longest.of;
  const facts = {
    environment: environment ?? 'langfuse',
    alias: name ? `${name} ${id}` : id,
    rewards: [...rewards.values()],
    ...(model ? { policy: { policyId: model, version: 0 } } : {}),
  };
  const read = withNotes(chatEpisode(longest.chat, facts, namesIn('input')), [...notes, ...chatNotes(longest.chat)]);
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => {
    const of = onPath.get(i)?.at(-1);
    return { ...turn, ...(of && usageOf(of)) };
  });
  return { ...read, episode: { ...read.episode, turns } };
}

function byTime({ timestamp: a }: z.infer<typeof score>, { timestamp: b }: z.infer<typeof score>): number {
  return (a ?? '') < (b ?? '') ? -1 : (a ?? '') > (b ?? '') ? 1 : 0;
}

/** Returns the messages of a generation and its reply; null where it holds none. */
function chatOf({ input, output }: Observation): Chat | null {
  const asked = isObject(input) && Array.isArray(input.messages) ? input.messages : input;
  const before = typeof asked === 'string' ? [{ role: 'user', content: asked }] : asked;
  const reply = typeof output === 'string' ? { content: output } : Array.isArray(output) ? output[0] : output;
  if (!Array.isArray(before) || !isObject(reply)) return null;
  const read = chat.safeParse([...before, { role: 'assistant', ...reply }]);
  return read.success ? read.data : null;
}

function usageOf({ usageDetails: usage }: Observation): Pick<EpisodeTurn, 'usage'> {
  return typeof usage?.input === 'number' && typeof usage.output === 'number'
    ? { usage: { promptTokens: usage.input, completionTokens: usage.output } }
    : {};
}
