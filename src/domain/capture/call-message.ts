/** A message of a call in either protocol (chat completions, responses), as far as it is recorded and compared. */
export interface CallMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly CallPart[];
  readonly toolCalls: readonly CalledTool[];
  /** The call that a message of a tool answers. */
  readonly toolCallId: string | null;
}
export type CallPart =
  | { readonly kind: 'text'; readonly text: string }
  /** As it was sent: a data URL, or an address that the model server fetches. */
  | { readonly kind: 'picture'; readonly url: string };

export interface CalledTool {
  readonly id: string | null;
  readonly name: string;
  /** As the model wrote them, mostly JSON. */
  readonly arguments: string;
}

/** Returns the text of a message, its parts joined. */
export function textOf({ parts }: Pick<CallMessage, 'parts'>): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/**
 * Returns what makes a message of the assistant the same when a program sends it back: programs leave out what is empty, strip
 * blanks at the ends, and write the arguments of tools again.
 */
export function keyOf({ role, parts, toolCalls, toolCallId }: CallMessage): readonly unknown[] {
  const pictures = parts.flatMap((part) => (part.kind === 'picture' ? [part.url] : []));
  const calls = toolCalls.map(({ name, arguments: given }) => [name, sameArguments(given)]);
  return [role, textOf({ parts }).trim(), pictures, calls, role === 'tool' ? toolCallId : null];
}

/** Writes what a step holds as its response: the text, then its calls of tools as JSON. */
export function responseOf({ parts, toolCalls }: Pick<CallMessage, 'parts' | 'toolCalls'>): string {
  const text = textOf({ parts });
  return [...(text === '' ? [] : [text]), ...(toolCalls.length === 0 ? [] : [toolCallsText(toolCalls)])].join('\n');
}

/** Writes calls of tools as they are recorded in prompts and responses. */
export function toolCallsText(toolCalls: readonly CalledTool[]): string {
  return JSON.stringify({ tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) });
}

function sameArguments(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given.trim();
  }
}
