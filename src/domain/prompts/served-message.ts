import type { PolicyMessage, ToolCallPart } from './policy-prompt.ts';
import { messageText } from './same-message.ts';

/** A message in the fields that chat servers and chat templates give it, arguments of calls as text; pictures are left out. */
export interface ServedMessage {
  readonly role: PolicyMessage['role'];
  readonly content: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

export function servedMessage(message: PolicyMessage): ServedMessage {
  return { role: message.role, content: messageText(message), ...structureOf(message, (text) => text) };
}

/**
 * Returns what a message is besides its content, in the fields that chat servers and chat templates give it.
 * @param write how the arguments of a call are written: servers take a text, templates an object.
 */
export function structureOf<Arguments>(message: PolicyMessage, write: (text: string) => Arguments) {
  const { toolCallId, name } = message;
  const reasoning = reasoningOf(message);
  const calls = callsOf(message);
  return {
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name: tool, arguments: given }) => ({
            ...(id === null ? {} : { id }),
            type: 'function' as const,
            function: { name: tool, arguments: write(given) },
          })),
        }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(name === undefined ? {} : { name }),
  };
}

/** Returns the calls of tools in a message, in order. */
export function callsOf({ parts }: PolicyMessage): readonly ToolCallPart[] {
  return parts.filter((part) => part.kind === 'tool-call');
}

/** Returns what a model thought apart from what it said; empty for nothing. */
export function reasoningOf({ parts }: PolicyMessage): string {
  return parts.map((part) => (part.kind === 'reasoning' ? part.text : '')).join('');
}

/** Returns tools in the form of chat completions; those of the responses protocol have the fields of a function on top. */
export function chatTools(tools: string): string {
  const list: unknown = JSON.parse(tools);
  if (!Array.isArray(list) || list.every((tool) => !isFlat(tool))) return tools;
  return JSON.stringify(
    list.map((tool: unknown) => {
      if (!isFlat(tool)) return tool;
      const { type, ...fields } = tool;
      return { type, function: fields };
    }),
  );
}

function isFlat(tool: unknown): tool is Readonly<Record<string, unknown>> {
  return (
    typeof tool === 'object' &&
    tool !== null &&
    'name' in tool &&
    !('function' in tool) &&
    'type' in tool &&
    tool.type === 'function'
  );
}
