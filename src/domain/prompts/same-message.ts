import { argumentsKey } from './arguments-key.ts';
import type { AskedMessage, AskedPart } from './asked-prompt.ts';

/** Returns whether two messages are the same: role, and texts, pictures, reasoning and calls of tools in order. */
export function sameMessage(a: AskedMessage | undefined, b: AskedMessage | undefined): boolean {
  return sameBy(a, b, (one, other) => one === other);
}

/**
 * Returns whether a message is another one that a program sent back: the arguments of its calls are the same JSON, which programs
 * write again.
 */
export function repeatsMessage(a: AskedMessage | undefined, b: AskedMessage | undefined): boolean {
  return sameBy(a, b, (one, other) => one === other || argumentsKey(one) === argumentsKey(other));
}

type SameArguments = (one: string, other: string) => boolean;

function sameBy(a: AskedMessage | undefined, b: AskedMessage | undefined, sameArguments: SameArguments): boolean {
  if (a === b) return true;
  if (!a || !b || a.role !== b.role || a.toolCallId !== b.toolCallId || a.name !== b.name) return false;
  return a.parts.length === b.parts.length && a.parts.every((part, i) => samePart(part, b.parts[i], sameArguments));
}

function samePart(part: AskedPart, other: AskedPart | undefined, sameArguments: SameArguments): boolean {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return other?.kind === part.kind && other.text === part.text;
    case 'image':
      return other?.kind === 'image' && other.imageId === part.imageId;
    case 'tool-call':
      return (
        other?.kind === 'tool-call' &&
        other.id === part.id &&
        other.name === part.name &&
        sameArguments(other.arguments, part.arguments)
      );
    default:
      return part satisfies never;
  }
}

/** Counts the messages with which both begin. */
export function sharedMessages(a: readonly AskedMessage[], b: readonly AskedMessage[], same = sameMessage): number {
  let shared = 0;
  while (shared < a.length && shared < b.length && same(a[shared], b[shared])) shared++;
  return shared;
}

/** Makes a message that is one text. */
export function textMessage(role: AskedMessage['role'], text: string): AskedMessage {
  return { role, parts: [{ kind: 'text', text }] };
}

/** Returns the texts of a message, joined. */
export function messageText({ parts }: Pick<AskedMessage, 'parts'>): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** Whether a message is more than texts and pictures: it calls tools, is the result of one, holds reasoning, or has a name. */
export function isStructured({ role, parts, name }: MessageForm): boolean {
  return role === 'tool' || name !== undefined || parts.some(({ kind }) => kind === 'reasoning' || kind === 'tool-call');
}

/** What is asked of a message to know whether it is structured; of one on record too, whose texts are elsewhere. */
interface MessageForm {
  readonly role: AskedMessage['role'];
  readonly parts: readonly { readonly kind: string }[];
  readonly name?: string | undefined;
}
