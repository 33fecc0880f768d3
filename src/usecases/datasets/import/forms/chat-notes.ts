import { type RowNote, unreadNotes } from '../row-note.ts';
import { type Chat, isStructuredChat, MESSAGE_FIELDS } from './chat-episode.ts';

const SYSTEM = ['system', 'developer'];
const KEPT = ['system', 'developer', 'user', 'assistant', 'tool'];

/** Notes what a chat loses as a trajectory. One of texts alone is replies and one text between them. */
export function chatNotes(messages: Chat): readonly RowNote[] {
  const notes: RowNote[] = [];
  const say = (kind: RowNote['kind'], field: string | null = null) => notes.push({ kind, field });
  for (const each of messages) {
    if (!KEPT.includes(each.role)) say('role-not-kept', each.role);
    if (typeof each.weight === 'number' && each.weight !== 0 && each.weight !== 1) say('weight-read-as-1');
    for (const note of unreadNotes(each, MESSAGE_FIELDS, 'messages[].')) notes.push(note);
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
