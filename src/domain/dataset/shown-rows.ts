import type { PolicyMessage } from '../prompts/policy-prompt.ts';
import { repeatsMessage, sharedMessages } from '../prompts/same-message.ts';

/** A step as a training example needs it: what it was asked with, and what was answered. */
export interface ShownStep {
  readonly prompt: readonly PolicyMessage[];
  readonly reply: PolicyMessage;
  readonly weight: 0 | 1;
  /** Schemas of the tools that the model was offered, as JSON; null for none. */
  readonly tools: string | null;
  /** `composed`: the record holds no prompt of the step, and the chat of the environment takes its place. */
  readonly source: PromptSource;
}

export type PromptSource = 'recorded' | 'composed';

/** A message of an example: replies have a weight, 1 where they are trained on. */
export type RowMessage = PolicyMessage & { readonly weight?: 0 | 1 };

/** A conversation in which every reply that is trained on follows the very messages that it was asked with. */
export interface ShownRow {
  readonly messages: readonly RowMessage[];
  /** The tools that every reply of it was offered, as JSON; null for none. */
  readonly tools: string | null;
  /** How many of them come before the reply of its first step. */
  readonly opening: number;
  /** The steps that it holds, [from, to) of those given. */
  readonly from: number;
  readonly to: number;
  /** `recorded` where the prompt of every reply that is trained on is. */
  readonly source: PromptSource;
}

/**
 * Lays steps out as conversations. A step whose prompt continues the prompt before and its reply goes on in the same row; where
 * it does not (turns were left out, the past is drawn into an image), or other tools are offered, a new row begins. Of several rows those without a reply
 * to train on are left out.
 */
export function shownRows(steps: readonly ShownStep[]): readonly ShownRow[] {
  const rows: ShownRow[] = [];
  let from = 0;
  let messages: RowMessage[] = [];
  const end = (to: number) => {
    const first = steps[from];
    if (first && to > from)
      rows.push({
        messages,
        tools: first.tools,
        opening: first.prompt.length,
        from,
        to,
        source: sourceOf(steps.slice(from, to)),
      });
  };
  for (const [i, { prompt, reply, weight, tools }] of steps.entries()) {
    const goesOn = tools === steps[from]?.tools && sharedMessages(messages, prompt, repeatsMessage) === messages.length;
    if (i > from && !goesOn) {
      end(i);
      from = i;
      messages = [];
    }
    for (const message of prompt.slice(messages.length)) messages.push(asContext(message));
    messages.push({ ...reply, weight });
  }
  end(steps.length);
  return rows.length === 1 ? rows : rows.filter((row) => row.messages.some((message) => message.weight === 1));
}

/** Replies in a prompt are no steps of the row: a weight is said of them too, since without one they are trained on. */
function asContext(message: PolicyMessage): RowMessage {
  return message.role === 'assistant' ? { ...message, weight: 0 } : message;
}

function sourceOf(steps: readonly ShownStep[]): PromptSource {
  const trained = steps.filter(({ weight }) => weight === 1);
  return (trained.length > 0 ? trained : steps).every(({ source }) => source === 'recorded') ? 'recorded' : 'composed';
}

/** The pictures of messages in order, by their ids. */
export function pictureIds(messages: readonly PolicyMessage[]): readonly string[] {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'image' ? [part.imageId] : [])));
}
