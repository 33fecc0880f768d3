import type { ChatMessage } from '../history/prompt.ts';

export type PublishedTrim =
  | { readonly kind: 'fits'; readonly messages: readonly ChatMessage[] }
  /** What is never cut is above the limit by itself. The published code loops for ever here. */
  | { readonly kind: 'too-long'; readonly limit: number };

const KEPT = 5; // system, instruction, its acknowledgement, first observation, first reply

/**
 * Shortens a prompt as Agent-R's search does (specification, §1.6 item 1): while it counts more than `limit`, two messages go.
 * FastChat keeps the system text apart, so `del messages[4:6]` takes the sixth and seventh message of the chat: the oldest
 * observation with the *next* reply, and the first reply seems answered by a later observation (§6 item 15). `trimTurns` is the
 * sound form.
 * @param messages the system message first. @param limit MAX_TOKEN_LENGTH − 60 as published. @param countTokens of the whole
 * chat.
 */
export function trimAsPublished(
  messages: readonly ChatMessage[],
  limit: number,
  countTokens: (messages: readonly ChatMessage[]) => number,
): PublishedTrim {
  let kept = messages;
  while (countTokens(kept) > limit) {
    if (kept.length <= KEPT) return { kind: 'too-long', limit };
    kept = [...kept.slice(0, KEPT), ...kept.slice(KEPT + 2)];
  }
  return { kind: 'fits', messages: kept };
}
