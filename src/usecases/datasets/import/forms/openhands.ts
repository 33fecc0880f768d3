import { z } from 'zod';
import type { Sha256 } from '../../../../digest/sha256.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { type ParsedRow, readParsedRows } from '../read-rows.ts';
import { type ChatFacts, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';

/** Events of OpenHands: results of its evaluations (`output.jsonl`, a row per task), or a trajectory as an array of events. */
export const openHandsForm = {
  name: 'openhands',
  importer: 'openhands/1',
  title: 'OpenHands',
  policyId: 'openhands',
  notKept: 'times, patches, results of tests besides success, what was recalled, and prompts behind a condensation',
  recognizes: (first) => isEvent(first) || ('instance_id' in first && Array.isArray(first.history)),
  items: (path, { environment }, hash) => readEvents(path, environment, hash),
} as const satisfies ItemForm;

type Fields = Readonly<Record<string, unknown>>;

function isEvent(value: Fields): boolean {
  return typeof value.source === 'string' && (isObject(value.args) || isObject(value.extras));
}

async function* readEvents(path: string, environment: string | null, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  const session: unknown[] = [];
  const broken: Refused[] = []; // of a session, or before the row that says what the file is
  let isSession: boolean | undefined;
  for await (const row of readParsedRows(path, hash, 'null')) {
    if (row.kind === 'row') isSession ??= isObject(row.value) && isEvent(row.value);
    if (isSession !== false) {
      if (row.kind === 'row') session.push(row.value);
      else broken.push(row);
      continue;
    }
    for (const each of broken.splice(0)) yield { line: each.line, parsed: each };
    yield { line: row.line, parsed: row.kind === 'refused' ? row : parseOpenHandsRow(row.value, environment) };
  }
  if (!isSession) {
    for (const each of broken) yield { line: each.line, parsed: each };
    return;
  }
  const [first] = broken;
  if (!first) yield { line: 1, parsed: episodeOf(session, {}, environment, 'the event', []) };
  else {
    const reason = `${first.reason}; the trajectory is left out whole, as without that event it never happened`;
    yield { line: first.line, parsed: { kind: 'refused', reason } };
  }
}

type Refused = Extract<ParsedRow, { kind: 'refused' }>;

const row = z.looseObject({
  instance_id: z.union([z.string(), z.number()]),
  history: z.array(z.unknown()),
  error: z.string().nullish(),
  metadata: z.looseObject({ llm_config: z.looseObject({ model: z.string().nullish() }).nullish() }).nullish(),
  test_result: z
    .looseObject({ report: z.looseObject({ resolved: z.boolean().nullish() }).nullish().catch(null) })
    .nullish()
    .catch(null),
  report: z.looseObject({ resolved: z.boolean().nullish() }).nullish().catch(null),
});
const ROW_READ = ['instance_id', 'history', 'error', 'report'];

/** Reads a row of `output.jsonl`; `report.resolved` of its evaluation is success. It holds no reward. */
export function parseOpenHandsRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { instance_id: id, history, error, metadata, test_result: tested, report } = parsed.data;
  const model = metadata?.llm_config?.model;
  const facts: ChatFacts = {
    alias: String(id),
    success: report?.resolved ?? tested?.report?.resolved ?? null,
    outcome: error ? (/maximum iteration|max_iterations|budget/i.test(error) ? 'truncated' : 'failed') : 'terminated',
    ...(model ? { policy: { policyId: model, version: 0 } } : {}),
  };
  const notes = [...characterNotes(value), ...unreadNotes(parsed.data, ROW_READ)];
  const events = history.flatMap((each) => (Array.isArray(each) ? each : [each])); // pairs, in early versions
  return episodeOf(events, facts, environment, 'history', notes);
}

const count = z.number().int().nonnegative();
const toolCall = z.looseObject({
  function_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  model_response: z
    .looseObject({
      id: z.string().nullish(),
      model: z.string().nullish(),
      choices: z.array(z.looseObject({ message: z.looseObject({ role: z.string().nullish() }) })).min(1),
      usage: z.looseObject({ prompt_tokens: count, completion_tokens: count }).nullish().catch(null),
    })
    .nullish(),
});
const event = z.looseObject({
  source: z.string().nullish(),
  action: z.string().nullish(),
  observation: z.string().nullish(),
  content: z.string().nullish(),
  message: z.string().nullish(),
  args: z.record(z.string(), z.unknown()).nullish(),
  tool_call_metadata: toolCall.nullish(),
});
type Event = z.infer<typeof event>;
type Usage = EpisodeTurn['usage'];

interface Session {
  readonly messages: object[];
  /** Of each reply. */
  readonly usages: Usage[];
  /** Ids of the replies: each action that one asks for repeats it. */
  readonly replies: Set<string>;
  readonly notes: RowNote[];
  tools: string | null;
  model: string | null;
}

function episodeOf(
  events: readonly unknown[],
  facts: ChatFacts,
  environment: string | null,
  place: string,
  notes: RowNote[],
): ParsedItem {
  const session: Session = { messages: [], usages: [], replies: new Set(), notes, tools: null, model: null };
  for (const [i, value] of events.entries()) {
    const read = event.safeParse(wellFormed(value).value);
    if (!read.success) {
      const refused = refusedShape(read.error);
      return refused.kind === 'refused' ? { ...refused, reason: `${place}.${i}.${refused.reason}` } : refused;
    }
    add(session, read.data);
  }
  const said = chat.safeParse(session.messages);
  if (!said.success) return refusedShape(said.error);
  const policyId = session.model;
  const named = policyId ? { policy: { policyId, version: 0 } } : {};
  const read = chatEpisode(
    said.data,
    { environment: environment ?? 'openhands', tools: session.tools, ...named, ...facts },
    namesIn('messages of the events'),
  );
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => {
    const usage = session.usages[i];
    return usage ? { ...turn, usage } : turn;
  });
  return withNotes({ kind: 'episode', episode: { ...read.episode, turns } }, notes);
}

function add(session: Session, each: Event): void {
  const { messages, notes } = session;
  const { action, observation, args, source, content, tool_call_metadata: call } = each;
  const unread = () => notes.push({ kind: 'line-not-read', field: action ?? observation ?? null });
  if (action === 'condensation') notes.push({ kind: 'session-compacted', field: null });
  else if (call && !observation) addReply(session, call);
  else if (call) {
    const { tool_call_id: id, function_name: name } = call;
    messages.push({ role: 'tool', content: content ?? '', ...(id ? { tool_call_id: id } : {}), ...(name ? { name } : {}) });
  } else if (action === 'system') {
    messages.push({ role: 'system', content: args?.content ?? '' });
    if (Array.isArray(args?.tools) && args.tools.length > 0) session.tools = JSON.stringify(args.tools);
  } else if (action === 'message') {
    const pictures = Array.isArray(args?.image_urls) && args.image_urls.length > 0 ? [{ type: 'image_url' }] : [];
    const text = typeof args?.content === 'string' ? args.content : '';
    const said = pictures.length > 0 ? [{ type: 'text', text }, ...pictures] : text;
    addSaid(session, { role: source === 'agent' ? 'assistant' : 'user', content: said });
  } else if (action === 'finish' && source === 'agent') {
    addSaid(session, { role: 'assistant', content: [args?.final_thought, args?.thought, each.message].find(isText) ?? '' });
  } else if (action && source === 'agent' && !BOOKKEEPING.includes(action)) {
    // of a model that writes its calls as texts, which the file does not hold as they were
    const { thought, ...given } = args ?? {};
    notes.push({ kind: 'part-not-read', field: 'the reply as it was worded' });
    const calls = [{ name: action, arguments: given }];
    addSaid(session, { role: 'assistant', content: isText(thought) ? thought : '', tool_calls: calls });
  } else if (observation && !BOOKKEEPING.includes(observation)) messages.push({ role: 'user', content: content ?? '' });
  else unread();
}

/** Events that show the model nothing, or that it is shown worded in a way that the file does not hold. */
const BOOKKEEPING = ['recall', 'change_agent_state', 'agent_state_changed', 'null', 'pause', 'condensation_request'];

function addReply(session: Session, { model_response: response }: z.infer<typeof toolCall>): void {
  const { id, model, choices, usage } = response ?? {};
  const message = choices?.[0]?.message;
  if (!message) {
    session.notes.push({ kind: 'line-not-read', field: 'a call without its reply' });
    return;
  }
  if (id && session.replies.has(id)) return;
  if (id) session.replies.add(id);
  session.model ??= model ?? null;
  const { content, tool_calls: calls, reasoning_content: thought } = message;
  for (const each of unreadNotes(message, MESSAGE_READ, 'model_response.choices[].message.')) session.notes.push(each);
  addSaid(
    session,
    {
      role: 'assistant',
      content: content ?? '',
      ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
      ...(isText(thought) ? { reasoning_content: thought } : {}),
    },
    usage ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } : undefined,
  );
}

const MESSAGE_READ = ['role', 'content', 'tool_calls', 'reasoning_content', 'function_call'];

function addSaid({ messages, usages }: Session, message: { readonly role: string } & Fields, usage?: Usage): void {
  messages.push(message);
  if (message.role === 'assistant') usages.push(usage);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
