import type { PolicyMessage, PolicyMessagePart, ToolCallPart } from './policy-prompt.ts';

/**
 * Returns whether messages are of a record whose capture wrote calls of tools, and the ids of the calls that results answer, as JSON
 * behind their texts. One result must name a call of such a text: either one alone may be what a model or a tool said.
 */
export function areFlattened(messages: readonly PolicyMessage[]): boolean {
  const called = new Set(messages.flatMap((message) => flatCalls(message)?.calls.map(({ id }) => id) ?? []));
  return messages.some((message) => called.has(flatResult(message)?.toolCallId ?? null));
}

/** Returns a message of such a record with its structure; another message as it is. */
export function unflattened(message: PolicyMessage): PolicyMessage {
  const called = flatCalls(message);
  if (called) return { ...message, parts: [...called.before, ...called.calls] };
  const result = flatResult(message);
  if (!result) return message;
  const { toolCallId, before } = result;
  return { ...message, toolCallId, parts: before.length === 0 ? [{ kind: 'text', text: '' }] : before };
}

interface FlatCalls {
  readonly before: readonly PolicyMessagePart[];
  readonly calls: readonly ToolCallPart[];
}

/** Null where a message does not end with calls exactly as they were written. */
function flatCalls(message: PolicyMessage): FlatCalls | null {
  if (message.role !== 'assistant' || message.parts.some(({ kind }) => kind === 'tool-call')) return null;
  const found = jsonAtEnd(message, CALLS);
  const given = isFields(found?.value) && Array.isArray(found.value.tool_calls) ? found.value.tool_calls : [];
  const calls = given.flatMap((call: unknown) => callIn(call) ?? []);
  const written = JSON.stringify({ tool_calls: calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })) });
  return found && calls.length > 0 && written === found.text ? { before: found.before, calls } : null;
}

const CALLS = '{"tool_calls":[';
const RESULT = '{"tool_call_id":"';

function callIn(call: unknown): ToolCallPart | null {
  if (!isFields(call)) return null;
  const { id, name, arguments: given } = call;
  if ((id !== null && typeof id !== 'string') || typeof name !== 'string' || typeof given !== 'string') return null;
  return { kind: 'tool-call', id, name, arguments: given };
}

function flatResult(
  message: PolicyMessage,
): { readonly before: readonly PolicyMessagePart[]; readonly toolCallId: string } | null {
  if (message.role !== 'tool' || message.toolCallId !== undefined) return null;
  const found = jsonAtEnd(message, RESULT);
  const id = isFields(found?.value) ? found.value.tool_call_id : null;
  return found && typeof id === 'string' && JSON.stringify({ tool_call_id: id }) === found.text
    ? { before: found.before, toolCallId: id }
    : null;
}

/** Finds the JSON that begins so and with which the last text of a message ends; a line break before it goes with it. */
function jsonAtEnd({ parts }: PolicyMessage, begins: string) {
  const last = parts.at(-1);
  if (last?.kind !== 'text') return null;
  const at = last.text.lastIndexOf(begins);
  if (at < 0) return null;
  const said = last.text.slice(0, at).replace(/\n$/, '');
  const before = [...parts.slice(0, -1), ...(said === '' ? [] : [{ kind: 'text' as const, text: said }])];
  try {
    const text = last.text.slice(at);
    return { before, text, value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
