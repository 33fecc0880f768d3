import { sha256Hex } from '../../digest/sha256.ts';
import { type CallMessage, keyOf } from '../../domain/capture/call-message.ts';
import type { ToolIds } from '../../domain/capture/place-call.ts';
import { canonicalJson } from '../../events/canonical-json.ts';

const EMPTY = sha256Hex('conversation');

/** Returns the digests of the first 0, 1, … messages of a conversation; those of the system are no part of it. */
export function prefixesOf(messages: readonly CallMessage[]): readonly string[] {
  const digests = [EMPTY];
  for (const message of spoken(messages)) digests.push(withMessage(digests.at(-1) ?? EMPTY, message));
  return digests;
}

/** Returns the digest of a conversation with one more message. */
export function withMessage(conversation: string, message: CallMessage): string {
  return sha256Hex(conversation, canonicalJson(keyOf(message)));
}

/** Returns the messages of a conversation without those of the system. */
export function spoken(messages: readonly CallMessage[]): readonly CallMessage[] {
  return messages.filter(({ role }) => role !== 'system');
}

/** Returns the ids of the calls of tools in a message. */
export function toolCallIdsOf({ toolCalls }: CallMessage): readonly string[] {
  return toolCalls.flatMap(({ id }) => (id ? [id] : []));
}

/** Returns what a message has of tools: the ids of the calls in it, and of the call that it answers. */
export function toolIdsOf(message: CallMessage): ToolIds {
  return { calls: toolCallIdsOf(message), answers: message.role === 'tool' ? message.toolCallId : null };
}
