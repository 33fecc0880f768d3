/** How the past is shown to the agent: written out in the prompt, or drawn into one image. */
export type PromptMode = 'text' | 'image';

/** A piece of a message. `history-image` is the place of the image drawn from the prompt's `historyText`. */
export type PromptPart = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'history-image' };

/** One message of a prompt whose parts may be text or the history image, as multimodal chat servers take them. */
export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly PromptPart[];
}
