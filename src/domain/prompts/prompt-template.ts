/** The worlds that a prompt is worded for. */
export type TemplateName = 'alfworld' | 'search-qa' | 'textcraft' | 'webshop';

/** A step already taken, as the agent saw it: what it saw, and the action that was read out of its answer. */
export interface PastStep {
  readonly observation: string;
  readonly action: string;
}

/** What a prompt is composed from. */
export interface PromptInput {
  readonly mode: PromptMode;
  /** Asks the agent for a compression factor. Without effect in text mode: there is no image to compress. */
  readonly compression: boolean;
  /** The goal, or the question. */
  readonly task: string;
  /** All steps taken, the oldest first. */
  readonly steps: readonly PastStep[];
  /** What the agent sees now: the world's opening, or its answer to the last step. */
  readonly observation: string;
  /** What the agent may do now; null where the world does not list it, or lists it in the observation. */
  readonly admissibleActions: readonly string[] | null;
  /** How many of the last steps are shown; the published runs show all (50 steps in ALFWorld, 4 in Search). */
  readonly historyLength: number;
  /** What image mode sends while there is no history: nothing (the default), or an image all the same, blank, as published. */
  readonly emptyHistory?: 'no-image' | 'blank-image';
}

/** Which wording made a prompt: recorded with the run, so that a prompt can be composed again years later. */
interface TemplateRef {
  readonly name: TemplateName;
  /** Raised with every change of a text, or of what a record looks like. */
  readonly version: number;
  readonly mode: PromptMode;
  readonly compression: boolean;
}

export interface ComposedPrompt {
  readonly template: TemplateRef;
  readonly messages: readonly PromptMessage[];
  /**
   * The shown records, the oldest first: what the history image is drawn from, or what the text holds; empty at the first
   * step.
   */
  readonly historyText: string;
  /** The same, one by one. A record of Search may hold line breaks, so the renderer splits `historyText` and not these. */
  readonly records: readonly string[];
}

/** How the past is shown to the agent: written out in the prompt, or drawn into one image. */
type PromptMode = 'text' | 'image';

/** A piece of a message. `history-image` is the place of the image drawn from the prompt's `historyText`. */
export type PromptPart = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'history-image' };

/** One message of a prompt whose parts may be text or the history image, as multimodal chat servers take them. */
export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly PromptPart[];
}
