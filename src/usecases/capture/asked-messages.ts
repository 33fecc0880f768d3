import { sha256Hex } from '../../digest/sha256.ts';
import { type CallMessage, type CallPart, toolCallsText } from '../../domain/capture/call-message.ts';
import type { AskedMessage, AskedPart } from '../../domain/prompts/asked-prompt.ts';

/** Returns the messages of a call as prompts are recorded: calls of tools, and what they are answered by, as a text of JSON. */
export function askedMessages(messages: readonly CallMessage[]): readonly AskedMessage[] {
  return messages.map(({ role, parts, toolCalls, toolCallId }) => ({
    role,
    parts: [
      ...parts.map(askedPart),
      ...(toolCalls.length === 0 ? [] : [text(toolCallsText(toolCalls))]),
      ...(toolCallId === null ? [] : [text(JSON.stringify({ tool_call_id: toolCallId }))]),
    ],
  }));
}

function askedPart(part: CallPart): AskedPart {
  if (part.kind === 'text') return text(part.text);
  const inline = /^data:([^;,]{0,100})/.exec(part.url);
  // the bytes of a picture are no text of a prompt: they would be stored again with every program that shows it
  const shown = inline ? { mediaType: inline[1], sha256: sha256Hex(part.url), bytes: part.url.length } : { url: part.url };
  return text(JSON.stringify({ picture: shown }));
}

function text(content: string): AskedPart {
  return { kind: 'text', text: content };
}
