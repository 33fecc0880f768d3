import { openSha256 } from '../../../../digest/sha256.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { readRows } from '../read-rows.ts';
import { characterNotes, type RowNote } from '../row-note.ts';
import { withNotes } from '../with-notes.ts';
import { CHAT_ROLES, type Chat, callText, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import type { ItemForm } from './item-of-file.ts';
import { isObject } from './read-objects.ts';

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
];

/** Returns whether a line is one of an agent's session as the Hugging Face hub shows them (Claude Code, Codex, Pi, Droid). */
export function isTraceLine(first: Readonly<Record<string, unknown>>): boolean {
  return typeof first.type === 'string' && (TYPES.includes(first.type) || 'sessionId' in first);
}

/**
 * Reads a file that is one session: a line per message, of Claude Code and Pi (`message`) or of Codex (`response_item`). Replies
 * that follow each other are one; calls of tools are written into the reply, their results are its observation. Other lines,
 * usage and thinking are passed over.
 */
export const readTrace: ItemForm['items'] = async function* items(path, { environment }, hash = openSha256()) {
  const messages: unknown[] = [];
  const notes: RowNote[] = [];
  let session = '';
  for await (const { value } of readRows(path, hash)) {
    const line = wellFormed(value).value;
    if (notes.length === 0) notes.push(...characterNotes(value));
    if (!isObject(line)) continue;
    session ||= sessionOf(line);
    const said = messageOf(line);
    if (said === null) continue;
    const before = messages.at(-1);
    if (isObject(before) && before.role === 'assistant' && said.role === 'assistant')
      messages[messages.length - 1] = {
        role: 'assistant',
        content: [before.content, said.content].filter((text) => text !== '').join('\n'),
      };
    else messages.push(said);
  }
  const parsed = chat.safeParse(messages);
  if (!parsed.success) {
    yield { line: 1, parsed: refusedShape(parsed.error) };
    return;
  }
  const facts = { environment: environment ?? 'trace', ...(session ? { alias: session } : {}) };
  yield { line: 1, parsed: withNotes(chatEpisode(parsed.data as Chat, facts, namesIn('the session')), notes) };
};

function sessionOf(line: Readonly<Record<string, unknown>>): string {
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
}

function messageOf(line: Readonly<Record<string, unknown>>): Said | null {
  if (isObject(line.message)) return said(line.message);
  if (line.type === 'response_item' && isObject(line.payload)) return saidByCodex(line.payload);
  return null;
}

function said(message: Readonly<Record<string, unknown>>): Said | null {
  const { role, content } = message;
  if (typeof role !== 'string') return null;
  const text = contentOf(content);
  if (text === '') return null;
  // Pi has roles for its own commands and summaries (`bashExecution`, `branchSummary`); its model is shown them as the user's
  const shown = CHAT_ROLES.includes(role) ? role : 'user';
  return { role: role === 'toolResult' ? 'tool' : shown, content: text };
}

function saidByCodex(payload: Readonly<Record<string, unknown>>): Said | null {
  const { type, role, content, name, output } = payload;
  if (type === 'message' && typeof role === 'string') {
    const text = contentOf(content);
    return text === '' || role === 'developer' ? null : { role: CHAT_ROLES.includes(role) ? role : 'user', content: text };
  }
  if (type === 'function_call' && typeof name === 'string')
    return { role: 'assistant', content: callText(name, payload.arguments) };
  if (type === 'function_call_output')
    return { role: 'tool', content: typeof output === 'string' ? output : JSON.stringify(output) };
  return null;
}

/** Puts the parts of a message together: texts, calls of tools, and results of tools. */
function contentOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map(partText)
    .filter((text) => text !== '')
    .join('\n');
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part;
  if (!isObject(part)) return '';
  const { type, text, name, input, content } = part;
  if (type === 'tool_use' && typeof name === 'string') return callText(name, input);
  if (type === 'toolCall' && typeof name === 'string') return callText(name, part.arguments);
  if (type === 'tool_result') return contentOf(content);
  return typeof text === 'string' && type !== 'thinking' ? text : '';
}
