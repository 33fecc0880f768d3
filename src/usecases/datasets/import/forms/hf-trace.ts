import { wellFormed } from '../../../../events/well-formed.ts';
import { CHAT_ROLES } from '../../../../policies/openai/read-messages.ts';
import { characterNotes, type RowNote, withNotes } from '../agent-traj-item.ts';
import { readParsedRows } from '../read-rows.ts';
import { type Chat, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
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
export function isTraceLine(first: Readonly<Record<string, unknown>>): boolean {
  return typeof first.type === 'string' && (TYPES.includes(first.type) || 'sessionId' in first);
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
  readonly messages: Said[];
  readonly notes: RowNote[];
  /** The first line that cannot be read before its last one. */
  brokenAt: number | null;
}

function newSession(): Session {
  return { messages: [], notes: [], brokenAt: null };
}

function add(messages: Said[], said: Said): void {
  const before = messages.at(-1);
  if (before?.role === 'assistant' && said.role === 'assistant') messages[messages.length - 1] = joined(before, said);
  else if (said.role === 'system' && messages.some(({ role }) => role === 'assistant')) messages.push({ ...said, role: 'user' });
  else messages.push(said);
}

function itemOf({ messages, notes, brokenAt }: Session, name: string, environment: string | null): ItemOfFile {
  if (brokenAt !== null) {
    const reason =
      'the session continues after this line, which cannot be read; repair the line, or the session is left out whole';
    return { line: brokenAt, parsed: { kind: 'refused', reason } };
  }
  const parsed = chat.safeParse(messages);
  if (!parsed.success) return { line: 1, parsed: refusedShape(parsed.error) };
  const facts = { environment: environment ?? 'trace', ...(name === '' ? {} : { alias: name }) };
  return { line: 1, parsed: withNotes(chatEpisode(parsed.data as Chat, facts, namesIn('the session')), notes) };
}

function joined(before: Said, said: Said): Said {
  const calls = [...(before.tool_calls ?? []), ...(said.tool_calls ?? [])];
  const thought = lines(before.reasoning_content ?? '', said.reasoning_content ?? '');
  return {
    role: 'assistant',
    content: lines(before.content, said.content),
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
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

interface Said {
  readonly role: string;
  readonly content: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { readonly id: string | null; readonly name: string; readonly arguments: unknown }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

/** Types of lines that say of a session which it is, or repeat what other lines hold. */
const BOOKKEEPING = ['session', 'session_start', 'session_meta', 'event_msg'];

function messagesOf(line: Fields, notes: RowNote[]): readonly Said[] {
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

function messagesIn(message: Fields, notes: RowNote[]): readonly Said[] {
  const { role, content } = message;
  if (typeof role !== 'string') {
    notes.push(OTHER_LINE);
    return [];
  }
  const parts = readParts(content, notes);
  if (role === 'toolResult') return [{ role: 'tool', content: parts.text, ...answered(message.toolCallId, message.toolName) }];
  // Pi has roles for its own commands and summaries (`bashExecution`, `branchSummary`); its model is shown them as the user's
  const shown = CHAT_ROLES.includes(role) ? role : 'user';
  const said = saidBy(shown, parts);
  return [...parts.results, ...(said ? [said] : [])];
}

function messagesOfCodex(payload: Fields, notes: RowNote[]): readonly Said[] {
  const { type, role, content, name, output, call_id: id } = payload;
  switch (type) {
    case 'message': {
      if (typeof role !== 'string') {
        notes.push({ kind: 'line-not-read', field: type });
        return [];
      }
      const known = CHAT_ROLES.includes(role) ? role : 'user';
      const said = saidBy(known === 'developer' ? 'system' : known, readParts(content, notes));
      return said ? [said] : [];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const given = payload.arguments ?? payload.input;
      return [{ role: 'assistant', content: '', tool_calls: [calledTool(id, name, given)] }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ role: 'tool', content: typeof output === 'string' ? output : JSON.stringify(output), ...answered(id, null) }];
    case 'reasoning': {
      const thought = lines(readParts(payload.summary, notes).text, readParts(content, notes).text);
      if (thought !== '') return [{ role: 'assistant', content: '', reasoning_content: thought }];
      notes.push({ kind: 'part-not-read', field: 'reasoning' }); // encrypted
      return [];
    }
    default:
      notes.push({ kind: 'line-not-read', field: typeof type === 'string' ? type : null });
      return [];
  }
}

interface Parts {
  text: string;
  thought: string;
  readonly calls: ReturnType<typeof calledTool>[];
  readonly results: Said[];
}

function saidBy(role: string, { text, thought, calls }: Parts): Said | null {
  if (role !== 'assistant') return text === '' ? null : { role, content: text };
  if (text === '' && thought === '' && calls.length === 0) return null;
  return {
    role,
    content: text,
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Takes the parts of a message apart: its text, what the model thought, its calls of tools, and results of tools. */
function readParts(content: unknown, notes: RowNote[]): Parts {
  const read: Parts = { text: '', thought: '', calls: [], results: [] };
  for (const part of Array.isArray(content) ? content : [content]) {
    if (typeof part === 'string') read.text = lines(read.text, part);
    if (!isObject(part)) {
      if (typeof part !== 'string' && part !== null && part !== undefined) notes.push(OTHER_PART);
      continue;
    }
    const { type, text, thinking, name, input, id } = part;
    if (type === 'thinking' && typeof thinking === 'string') read.thought = lines(read.thought, thinking);
    else if (type === 'tool_use') read.calls.push(calledTool(id, name, input));
    else if (type === 'toolCall') read.calls.push(calledTool(id, name, part.arguments));
    else if (type === 'tool_result')
      read.results.push({ role: 'tool', content: readParts(part.content, notes).text, ...answered(part.tool_use_id, null) });
    else if (typeof text === 'string') read.text = lines(read.text, text);
    else notes.push({ kind: 'part-not-read', field: typeof type === 'string' ? type : null });
  }
  return read;
}

function calledTool(id: unknown, name: unknown, given: unknown) {
  return { id: typeof id === 'string' ? id : null, name: typeof name === 'string' ? name : '', arguments: given };
}

function answered(id: unknown, name: unknown): Pick<Said, 'tool_call_id' | 'name'> {
  return {
    ...(typeof id === 'string' && id !== '' ? { tool_call_id: id } : {}),
    ...(typeof name === 'string' && name !== '' ? { name } : {}),
  };
}
