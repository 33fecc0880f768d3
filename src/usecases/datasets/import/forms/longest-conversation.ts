import type { Chat } from './chat-episode.ts';

/** A call of a model in a trace: the messages that it was asked with, and its reply as the last. */
export interface CallOfTrace<T> {
  readonly of: T;
  readonly chat: Chat;
}

/** The calls of a trace that are one conversation. */
interface Conversation<T> {
  readonly longest: CallOfTrace<T>;
  /** The calls that made its replies, by the places of these (from 0): several where the trace holds equal ones. */
  readonly turns: ReadonlyMap<number, readonly T[]>;
  /** How many calls are of other conversations. */
  readonly beside: number;
}

/** Finds the longest conversation of a trace, of equally long ones the last; null where there is no call. @param calls as they were made. */
export function longestConversation<T>(calls: readonly CallOfTrace<T>[]): Conversation<T> | null {
  const longest = calls.reduce<CallOfTrace<T> | null>((a, b) => (a && a.chat.length > b.chat.length ? a : b), null);
  if (!longest) return null;
  const ofIt = calls.filter(({ chat }) => isBeginning(chat, longest.chat));
  const turns = new Map<number, T[]>();
  for (const { of, chat } of ofIt) {
    const turn = repliesIn(chat) - 1;
    turns.set(turn, [...(turns.get(turn) ?? []), of]);
  }
  return { longest, turns, beside: calls.length - ofIt.length };
}

function isBeginning(begun: Chat, whole: Chat): boolean {
  return begun.length <= whole.length && begun.every((message, i) => same(message) === same(whole[i]));
}

function same(message: Chat[number] | undefined): string {
  return JSON.stringify([message?.role, message?.content ?? '', message?.tool_calls ?? [], message?.tool_call_id ?? '']);
}

function repliesIn(said: Chat): number {
  return said.filter(({ role }) => role === 'assistant').length;
}
