import type { AskedMessage, ToolCallPart } from './asked-prompt.ts';
import { textMessage } from './same-message.ts';

/** What a reply is besides its text: reasoning that came apart from it, and calls of tools. */
export interface ReplyStructure {
  /** Whether the thought of the step is reasoning that is no part of the text of the reply. */
  readonly reasoning: boolean;
  readonly toolCalls: readonly Omit<ToolCallPart, 'kind'>[];
}

/** A step, as far as its reply is a message. */
export interface StepReply {
  readonly response: string;
  readonly thought: string;
  /** Null where the reply is its text. */
  readonly reply: ReplyStructure | null;
}

/** Returns the reply of a step as a message: reasoning, text, calls of tools. */
export function replyMessage({ response, thought, reply }: StepReply): AskedMessage {
  if (reply === null) return textMessage('assistant', response);
  return {
    role: 'assistant',
    parts: [
      ...(reply.reasoning ? [{ kind: 'reasoning' as const, text: thought }] : []),
      ...(response === '' ? [] : [{ kind: 'text' as const, text: response }]),
      ...reply.toolCalls.map((call) => ({ kind: 'tool-call' as const, ...call })),
    ],
  };
}
