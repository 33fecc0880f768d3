import type { PolicyMessage } from '../domain/prompts/policy-prompt.ts';

/** A piece of a prescribed message. The picture is encoded when a policy asks for it: most policies never look. */
export type PromptMessagePart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'image';
      /** SHA-256 of size and pixels. */
      readonly imageId: string;
      readonly width: number;
      readonly height: number;
      png(): Promise<Uint8Array>;
    };

export interface SentMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly PromptMessagePart[];
}

/** The prompt of one step where the collector prescribes it whole, history included. */
export interface SentPrompt {
  readonly messages: readonly SentMessage[];
  /**
   * Writes the answer that means this action, in the form that the prompt asks for: for policies that choose rather than write.
   */
  write(thought: string, action: string): string;
}

/** Returns the messages as they are recorded: pictures by their id. */
export function askedMessages(messages: readonly SentMessage[]): readonly PolicyMessage[] {
  return messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part) => (part.kind === 'text' ? part : { kind: 'image', imageId: part.imageId })),
  }));
}
