import type { ChatMessage } from './prompt.ts';

/** The turns [from, to) that a prompt leaves out, counted from the first turn of the messages given. */
export interface TurnRange {
  readonly from: number;
  readonly to: number;
}

export type Trimmed =
  | {
      readonly kind: 'fits';
      readonly messages: readonly ChatMessage[];
      readonly trimmed: TurnRange | null;
      readonly tokens: number;
    }
  /** Nothing more may go: the head, and the newest turn where there is one, are longer than the limit by themselves. */
  | { readonly kind: 'too-long'; readonly headTokens: number; readonly newestTurnTokens: number; readonly limit: number };

/**
 * Drops whole turns (a reply with its observation), the oldest first, until the messages count at most `limit` tokens. The head
 * (all before the first reply) is pinned, and so is the newest turn: without its observation the agent would not know where it
 * is. Agent-R instead cut messages 4 and 5, an observation with the *next* reply, and looped for ever on a long head
 * (specification of Agent-R, §6 item 15).
 */
export function trimTurns(
  messages: readonly ChatMessage[],
  limit: number,
  countTokens: (message: ChatMessage) => number,
): Trimmed {
  const { head, turns } = splitTurns(messages);
  const count = (part: readonly ChatMessage[]): number => part.reduce((sum, message) => sum + countTokens(message), 0);
  const headTokens = count(head);
  const lengths = turns.map(count);
  let tokens = headTokens + lengths.reduce((sum, length) => sum + length, 0);
  let dropped = 0;
  while (tokens > limit && dropped < turns.length - 1) tokens -= lengths[dropped++] ?? 0;
  if (tokens > limit) return { kind: 'too-long', headTokens, newestTurnTokens: lengths.at(-1) ?? 0, limit };
  return { kind: 'fits', messages: joinFrom(head, turns, dropped), trimmed: rangeOf(dropped), tokens };
}

/** Drops the `count` oldest turns, but never the newest one. `trimmed` is null when there was nothing to drop. */
export function dropTurns(
  messages: readonly ChatMessage[],
  count: number,
): { readonly messages: readonly ChatMessage[]; readonly trimmed: TurnRange | null } {
  const { head, turns } = splitTurns(messages);
  const dropped = Math.max(0, Math.min(count, turns.length - 1));
  return { messages: joinFrom(head, turns, dropped), trimmed: rangeOf(dropped) };
}

/** Counts the turns of a chat. */
export function countTurns(messages: readonly ChatMessage[]): number {
  return splitTurns(messages).turns.length;
}

const PATCH = 28; // pixels of a side that become one token of Qwen2-VL and Qwen2.5-VL

/**
 * Estimates the tokens of a message where no tokenizer is available: one for three UTF-8 bytes, those of its pictures, and four
 * for the role's markers.
 */
export function approximateTokens(message: ChatMessage): number {
  // English runs at about four bytes a token; three errs on the long side, so that the server's limit is met rarely.
  const text = Math.ceil(new TextEncoder().encode(message.content).length / 3);
  const seen = (message.images ?? []).map(({ width, height }) => Math.ceil(width / PATCH) * Math.ceil(height / PATCH));
  return seen.reduce((sum, tokens) => sum + tokens, text) + 4;
}

function splitTurns(messages: readonly ChatMessage[]): { head: readonly ChatMessage[]; turns: (readonly ChatMessage[])[] } {
  const first = messages.findIndex((message) => message.role === 'assistant');
  if (first < 0) return { head: messages, turns: [] };
  const turns: ChatMessage[][] = [];
  for (const message of messages.slice(first)) {
    if (message.role === 'assistant') turns.push([message]);
    else turns.at(-1)?.push(message);
  }
  return { head: messages.slice(0, first), turns };
}

function joinFrom(head: readonly ChatMessage[], turns: readonly (readonly ChatMessage[])[], dropped: number): ChatMessage[] {
  return [...head, ...turns.slice(dropped).flat()];
}

function rangeOf(dropped: number): TurnRange | null {
  return dropped === 0 ? null : { from: 0, to: dropped };
}
