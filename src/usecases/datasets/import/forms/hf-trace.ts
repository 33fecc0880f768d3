import type { CallMessage } from '../../../../domain/capture/call-message.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { blockMessages, CHAT_ROLES, isSilent, type Lose, messagesOfItems } from '../../../../policies/openai/read-messages.ts';
import { characterNotes, type RowNote, withNotes } from '../agent-traj-item.ts';
import { readParsedRows } from '../read-rows.ts';
import { chatEpisode, chatMessageOf, namesIn } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';

const TYPES = [
  'user',
  'assistant',
  'system',
  'session',
  'session_start',
  'message',
  'session_meta',
  'turn_context',
  'response_item',
  'event_msg',
  'compacted',
];

/** Returns whether a line is one of an agent's session as the Hugging Face hub shows them (Claude Code, Codex, Pi, Droid). */
export function isTraceLine(line: Readonly<Record<string, unknown>>): boolean {
  return typeof line.type === 'string' && (TYPES.includes(line.type) || 'sessionId' in line);
}

/**
 * Reads a file that is one session: a line per message, of Claude Code and Pi (`message`) or of Codex (`response_item`). Replies
 * that follow each other are one. Lines and parts that are not read are counted by their type, and a compaction is noted. Messages
 * of sub-agents are left out, but for a file that holds no others: there each sub-agent is a session. A session that continues
 * after a line that cannot be read is refused as well: without that line it would be one that never happened.
 */
export const readTrace: ItemForm['items'] = async function* items(path, { environment }, hash) {
  const main = newSession();
  const sidechains = new Map<string, Session>(); // by agent
  let name = '';
  let broken: number | null = null; // the first line that cannot be read, and may be of any session
  for await (const row of readParsedRows(path, hash)) {
    if (row.kind === 'refused') {
      broken ??= row.line;
      yield { line: row.line, parsed: row };
      continue;
    }
    const line = wellFormed(row.value).value;
    if (!isObject(line)) {
      main.notes.push(OTHER_LINE);
      continue;
    }
    name ||= sessionOf(line);
    const agent = line.isSidechain === true ? String(line.agentId ?? '') : null;
    const session = agent === null ? main : (sidechains.get(agent) ?? newSession());
    if (agent !== null) sidechains.set(agent, session);
    session.brokenAt = broken;
    if (!session.notes.some(({ kind }) => kind === 'characters-replaced'))
      for (const each of characterNotes(row.value)) session.notes.push(each);
    for (const said of messagesOf(line, session.notes)) add(session.messages, said);
  }
  if (main.messages.length > 0 || sidechains.size === 0) {
    if (sidechains.size > 0) main.notes.push({ kind: 'sidechain-left-out', field: null });
    yield itemOf(main, name, environment);
    return;
  }
  for (const [agent, session] of sidechains) {
    const notes: RowNote[] = [...session.notes, ...main.notes, { kind: 'sidechain-alone', field: null }];
    const alias = sidechains.size === 1 ? name : `${name} ${agent}`;
    yield itemOf({ ...session, notes }, alias, environment);
  }
};

const OTHER_LINE: RowNote = { kind: 'line-not-read', field: null };
const OTHER_PART: RowNote = { kind: 'part-not-read', field: null };

interface Session {
  readonly messages: CallMessage[];
  readonly notes: RowNote[];
  /** The first line that cannot be read before its last one. */
  brokenAt: number | null;
}

function newSession(): Session {
  return { messages: [], notes: [], brokenAt: null };
}

function add(messages: CallMessage[], said: CallMessage): void {
  const before = messages.at(-1);
  if (before?.role === 'assistant' && said.role === 'assistant') messages[messages.length - 1] = joined(before, said);
  else messages.push(said);
}

function itemOf({ messages, notes, brokenAt }: Session, name: string, environment: string | null): ItemOfFile {
  if (brokenAt !== null) {
    const reason =
      'the session continues after this line, which cannot be read; repair the line, or the session is left out whole';
    return { line: brokenAt, parsed: { kind: 'refused', reason } };
  }
  const facts = { environment: environment ?? 'trace', ...(name === '' ? {} : { alias: name }) };
  return { line: 1, parsed: withNotes(chatEpisode(messages.map(chatMessageOf), facts, namesIn('the session')), notes) };
}

function joined(before: CallMessage, said: CallMessage): CallMessage {
  return inOneText({
    ...before,
    parts: [...before.parts, ...said.parts],
    reasoning: lines(before.reasoning, said.reasoning),
    toolCalls: [...before.toolCalls, ...said.toolCalls],
  });
}

/** Texts of one message are lines. */
function inOneText(message: CallMessage): CallMessage {
  const text = lines(...message.parts.map((part) => (part.kind === 'text' ? part.text : '')));
  return { ...message, parts: text === '' ? [] : [{ kind: 'text', text }] };
}

function lines(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n');
}

function sessionOf(line: Fields): string {
  const { sessionId, session_id: other, payload, type, id } = line;
  const found = [
    sessionId,
    other,
    type === 'session_meta' && isObject(payload) ? payload.id : null,
    type === 'session' || type === 'session_start' ? id : null,
  ];
  return (found.find((each) => typeof each === 'string') as string | undefined) ?? '';
}

/** Types of lines that say of a session which it is, or repeat what other lines hold. */
const BOOKKEEPING = ['session', 'session_start', 'session_meta', 'event_msg'];

function messagesOf(line: Fields, notes: RowNote[]): readonly CallMessage[] {
  const { type, message, payload } = line;
  if (isObject(message)) return messagesIn(message, notes);
  if (type === 'response_item' && isObject(payload)) return messagesOfCodex(payload, notes);
  if (type === 'compacted' || (type === 'system' && line.subtype === 'compact_boundary'))
    notes.push({ kind: 'session-compacted', field: null });
  else if (!(typeof type === 'string' && BOOKKEEPING.includes(type)))
    notes.push({ kind: 'line-not-read', field: typeof type === 'string' ? type : null });
  return [];
}

type Fields = Readonly<Record<string, unknown>>;

function messagesIn(message: Fields, notes: RowNote[]): readonly CallMessage[] {
  const { role, content, toolCallId, toolName } = message;
  if (typeof role !== 'string') {
    notes.push(OTHER_LINE);
    return [];
  }
  const said = Array.isArray(content) ? content.map(ofPi) : content;
  const given = role === 'toolResult' ? { role: 'tool', tool_call_id: toolCallId, name: toolName } : { role: roleOf(role) };
  return saidIn(blockMessages({ ...given, content: said }, loseIn(notes)), notes);
}

/** Pi has roles for its own commands and summaries (`bashExecution`, `branchSummary`); its model is shown them as the user's. */
function roleOf(role: unknown): unknown {
  return typeof role !== 'string' || CHAT_ROLES.includes(role) ? role : 'user';
}

function ofPi(part: unknown): unknown {
  return isObject(part) && part.type === 'toolCall' ? { ...part, type: 'tool_use', input: part.arguments } : part;
}

const ITEMS = ['function_call', 'custom_tool_call', 'function_call_output', 'custom_tool_call_output', 'reasoning'];

function messagesOfCodex(payload: Fields, notes: RowNote[]): readonly CallMessage[] {
  const { type, role, output } = payload;
  if (!(type === 'message' && typeof role === 'string') && !ITEMS.includes(String(type))) {
    notes.push({ kind: 'line-not-read', field: typeof type === 'string' ? type : null });
    return [];
  }
  const item = { ...payload, role: roleOf(role), output: isObject(output) && 'content' in output ? output.content : output };
  const said = saidIn(messagesOfItems([item], loseIn(notes)), notes);
  if (type === 'reasoning' && said.length === 0) notes.push({ kind: 'part-not-read', field: 'reasoning' }); // encrypted
  return said;
}

function loseIn(notes: RowNote[]): Lose {
  return (_, type) => notes.push(type === undefined ? OTHER_PART : { kind: 'part-not-read', field: type });
}

/** Takes what messages say: pictures are noted, and one that says nothing is left out, but for a result of a tool. */
function saidIn(messages: readonly CallMessage[], notes: RowNote[]): readonly CallMessage[] {
  for (const { parts } of messages)
    for (const { kind } of parts) if (kind === 'picture') notes.push({ kind: 'part-not-read', field: 'image' });
  return messages.map(inOneText).filter((message) => message.role === 'tool' || !isSilent(message));
}
