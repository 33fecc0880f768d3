import { wellFormed } from '../../events/well-formed.ts';
import type { ShownPart, ShownPrompt } from '../shown-prompt.ts';

/** One message as chat servers take it that read images: text alone as a string, else parts, pictures as data URLs. */
export interface MultimodalMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string | readonly object[];
}

/**
 * Turns a prescribed prompt into messages of the chat-completions protocol. Pictures travel inside as PNG: the server needs no
 * way back to us.
 */
export async function shownMessages({ messages }: ShownPrompt): Promise<readonly MultimodalMessage[]> {
  return Promise.all(
    messages.map(async ({ role, parts }) => {
      const only = parts.length === 1 ? parts[0] : undefined;
      if (only?.kind === 'text') return { role, content: wellFormed(only.text).value };
      return { role, content: await Promise.all(parts.map(contentOf)) };
    }),
  );
}

async function contentOf(part: ShownPart): Promise<object> {
  if (part.kind === 'text') return { type: 'text', text: wellFormed(part.text).value };
  return imagePart(await part.png());
}

/** Writes a picture as a part of a message. */
export function imagePart(png: Uint8Array): object {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` } };
}
