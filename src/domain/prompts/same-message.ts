import type { AskedMessage } from './asked-prompt.ts';

/** Returns whether two messages say the same: role, texts and pictures in order. */
export function sameMessage(a: AskedMessage | undefined, b: AskedMessage | undefined): boolean {
  if (a === b) return true;
  if (!a || !b || a.role !== b.role || a.parts.length !== b.parts.length) return false;
  return a.parts.every((part, i) => {
    const other = b.parts[i];
    if (part.kind === 'text') return other?.kind === 'text' && other.text === part.text;
    return other?.kind === 'image' && other.imageId === part.imageId;
  });
}

/** Counts the messages with which both begin. */
export function sharedMessages(a: readonly AskedMessage[], b: readonly AskedMessage[]): number {
  let same = 0;
  while (same < a.length && same < b.length && sameMessage(a[same], b[same])) same++;
  return same;
}

/** Makes a message that is one text. */
export function textMessage(role: AskedMessage['role'], text: string): AskedMessage {
  return { role, parts: [{ kind: 'text', text }] };
}
