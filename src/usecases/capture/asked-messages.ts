import { sha256Hex } from '../../digest/sha256.ts';
import { type CallMessage, type CallPart, toolCallsText } from '../../domain/capture/call-message.ts';
import type { AskedMessage, AskedPart } from '../../domain/prompts/asked-prompt.ts';
import type { ShownPictures } from './shown-pictures.ts';

/** Pictures of a request, and the ids of those that the record holds. */
export interface HeldPictures {
  readonly shown: ShownPictures;
  readonly held: ReadonlySet<string>;
}

/** Returns the messages of a call as prompts are recorded: calls of tools, and what they are answered by, as a text of JSON. */
export function askedMessages(messages: readonly CallMessage[], pictures: HeldPictures): readonly AskedMessage[] {
  return messages.map(({ role, parts, toolCalls, toolCallId }) => ({
    role,
    parts: [
      ...parts.map((part) => askedPart(part, pictures)),
      ...(toolCalls.length === 0 ? [] : [text(toolCallsText(toolCalls))]),
      ...(toolCallId === null ? [] : [text(JSON.stringify({ tool_call_id: toolCallId }))]),
    ],
  }));
}

function askedPart(part: CallPart, { shown, held }: HeldPictures): AskedPart {
  if (part.kind === 'text') return text(part.text);
  const read = shown.get(part.url);
  if (read && 'png' in read && held.has(read.imageId)) return { kind: 'image', imageId: read.imageId };
  const unread = read && 'unread' in read ? read.unread : 'one call records no more pictures';
  const inline = /^data:([^;,]{0,100})/.exec(part.url);
  // its bytes are no text of a prompt: they would be stored again with every program that shows them
  const sent = inline ? { mediaType: inline[1], sha256: sha256Hex(part.url), bytes: part.url.length } : { url: part.url };
  return text(JSON.stringify({ picture: { ...sent, unread } }));
}

function text(content: string): AskedPart {
  return { kind: 'text', text: content };
}
