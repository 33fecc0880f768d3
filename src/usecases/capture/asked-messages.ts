import { sha256Hex } from '../../digest/sha256.ts';
import type { CallMessage, CallPart } from '../../domain/capture/call-message.ts';
import type { AskedMessage, AskedPart } from '../../domain/prompts/asked-prompt.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ShownPictures } from './shown-pictures.ts';

/** Pictures of a request, and the ids of those that the record holds. */
export interface HeldPictures {
  readonly shown: ShownPictures;
  readonly held: ReadonlySet<string>;
}

/** Names and ids of the tools of programs are cut at that: some servers carry a signature in an id. */
export const LONGEST_TOOL_NAME = 10_000;

/** Returns the messages of a call as prompts are recorded. */
export function askedMessages(messages: readonly CallMessage[], pictures: HeldPictures): readonly AskedMessage[] {
  return messages.map(
    ({ role, parts, reasoning, toolCalls, toolCallId, name }): AskedMessage => ({
      role,
      parts: [
        ...(reasoning === '' ? [] : [{ kind: 'reasoning' as const, text: reasoning }]),
        ...parts.map((part) => askedPart(part, pictures)),
        ...toolCalls.map(({ id, name: tool, arguments: given }) => ({
          kind: 'tool-call' as const,
          id: id === null ? null : cutText(id, LONGEST_TOOL_NAME),
          name: cutText(tool, LONGEST_TOOL_NAME),
          arguments: given,
        })),
      ],
      ...(toolCallId === null ? {} : { toolCallId: cutText(toolCallId, LONGEST_TOOL_NAME) }),
      ...(name === null ? {} : { name: cutText(name, LONGEST_TOOL_NAME) }),
    }),
  );
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
