import type { PromptSource, ShownStep } from '../../../domain/dataset/shown-rows.ts';
import { promptMessages } from '../../../domain/history/prompt.ts';
import type { AskedMessage } from '../../../domain/prompts/asked-prompt.ts';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { DatasetError } from '../dataset-error.ts';

/** A path of steps, with how it opens. */
export interface ShownPath {
  readonly instruction: string;
  readonly firstObservation: string;
  /** Ids of the pictures of the first observation, and of those behind it. */
  readonly firstPictures?: readonly string[];
  readonly steps: readonly {
    /** What was answered; left out where it is the text `response`. */
    readonly message?: AskedMessage | undefined;
    readonly response: string;
    readonly observation: string;
    readonly pictures?: readonly string[];
    readonly prompt: RecordedPrompt | null;
  }[];
}

/**
 * Returns what each step of a path was asked with: the recorded prompt, else the chat of the environment, which is then composed
 * again.
 */
export function shownSteps(
  { instruction, firstObservation, firstPictures = [], steps }: ShownPath,
  weights: readonly (0 | 1)[],
): readonly ShownStep[] {
  const pictures = [firstPictures, ...steps.map((step) => step.pictures ?? [])].values(); // of the messages of the user
  const chat = promptMessages({ instruction, firstObservation, history: steps }).map(({ role, content }) =>
    seenMessage(textMessage(role, content), role === 'user' ? (pictures.next().value ?? []) : []),
  );
  const opening = chat.length - 2 * steps.length;
  return steps.map(({ response, message, prompt }, i) => ({
    prompt: prompt?.messages ?? chat.slice(0, opening + 2 * i),
    reply: message ?? textMessage('assistant', response),
    weight: weights[i] ?? 0,
    tools: prompt?.tools ?? null,
    source: prompt ? 'recorded' : 'composed',
  }));
}

/** Puts pictures behind the text of a message, in the place of an empty one. */
function seenMessage({ role, parts }: AskedMessage, ids: readonly string[]): AskedMessage {
  if (ids.length === 0) return { role, parts };
  const text = parts.filter((part) => part.kind === 'text' && part.text !== '');
  return { role, parts: [...text, ...ids.map((imageId) => ({ kind: 'image' as const, imageId }))] };
}

/** Returns whether a run words its prompts itself, so that the chat of the environment is none that was shown. */
export function wordsPrompts(config: unknown): boolean {
  return typeof config === 'object' && config !== null && 'prompt' in config && Boolean(config.prompt);
}

/**
 * Refuses an example whose prompt is not recorded where it was worded otherwise than composed and nothing in its form says so.
 * @throws DatasetError `missing-prompt`.
 */
export function refuseUnsaid(source: PromptSource, config: unknown, place: string, says: boolean): void {
  if (says || source === 'recorded' || !wordsPrompts(config)) return;
  throw new DatasetError(
    'missing-prompt',
    `${place}: its run words prompts itself, the record does not hold them (it was written before they were recorded), and this form cannot say so; export it with its metadata, which does, or leave the run out by a filter`,
  );
}
