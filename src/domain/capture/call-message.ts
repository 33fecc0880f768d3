import type { ToolCallPart } from '../prompts/policy-prompt.ts';
import { argumentsKey } from '../prompts/same-message.ts';

/** A message of a call in either protocol (chat completions, responses), as far as it is recorded and compared. */
export interface CallMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly CallPart[];
  /** What the model thought, apart from what it said; empty when it did not, or its server does not say. */
  readonly reasoning: string;
  readonly toolCalls: readonly CalledTool[];
  /** The call that a message of a tool answers. */
  readonly toolCallId: string | null;
  /** The tool or the person that speaks, where the program says it. */
  readonly name: string | null;
}
export type CallPart =
  | { readonly kind: 'text'; readonly text: string }
  /** As it was sent: a data URL, or an address that the model server fetches. */
  | { readonly kind: 'picture'; readonly url: string };

export type CalledTool = Omit<ToolCallPart, 'kind'>;

/** Returns a message of texts and pictures, or what is given besides. */
export function callMessage(
  role: CallMessage['role'],
  parts: readonly CallPart[],
  more: Partial<Omit<CallMessage, 'role' | 'parts'>> = {},
): CallMessage {
  return { role, parts, reasoning: '', toolCalls: [], toolCallId: null, name: null, ...more };
}

/** Returns the text of a message, its parts joined. */
export function textOf({ parts }: Pick<CallMessage, 'parts'>): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/**
 * Returns what makes a message of the assistant the same when a program sends it back: programs leave out what is empty and what
 * the model thought, strip blanks at the ends, and write the arguments of tools again.
 */
export function keyOf({ role, parts, toolCalls, toolCallId }: CallMessage): readonly unknown[] {
  const pictures = parts.flatMap((part) => (part.kind === 'picture' ? [part.url] : []));
  const calls = toolCalls.map(({ name, arguments: given }) => [name, argumentsKey(given)]);
  const text = role === 'assistant' ? withoutThinking(textOf({ parts })) : textOf({ parts });
  return [role, text.trim(), pictures, calls, role === 'tool' ? toolCallId : null];
}

/** Templates open the thought before the reply, so that its text may begin inside of it. */
function withoutThinking(text: string): string {
  const end = text.indexOf('</think>');
  return end < 0 ? text : text.slice(end + '</think>'.length);
}

/** Returns what a step holds as the action of a reply: its calls of tools, a line for each, else its text. */
export function actionOf(message: Pick<CallMessage, 'parts' | 'toolCalls'>): string {
  const { toolCalls } = message;
  return toolCalls.length === 0 ? textOf(message) : toolCalls.map(({ name, arguments: given }) => `${name} ${given}`).join('\n');
}
