import { type ChatImage, type ChatMessage, type Conversation, promptMessages } from '../history/prompt.ts';
import { approximateTokens } from '../history/trim-turns.ts';
import { type PublishedTrim, trimAsPublished } from './trim-as-published.ts';

const SYSTEM = 'You are a helpful assistant.'; // of FastChat's template `chatgpt`
const ACKNOWLEDGEMENT = 'Ok.';
const MARGIN = 60; // tokens that the published search leaves below its limit

interface Opening {
  readonly instruction: string;
  readonly observation: string;
  /** Of the first observation; environments of the original have none. */
  readonly images?: readonly ChatImage[];
}

/** Counts the tokens of a whole chat. */
export type CountTokens = (messages: readonly ChatMessage[]) => number;

/**
 * Returns what precedes the first reply: a system sentence, the instruction as the first user message with its
 * acknowledgement, the first observation (§1.2).
 */
export function publishedOpening({ instruction, observation, images = [] }: Opening): readonly ChatMessage[] {
  return [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: instruction },
    { role: 'assistant', content: ACKNOWLEDGEMENT },
    ...promptMessages({ instruction: '', firstObservation: observation, firstImages: images, history: [] }),
  ];
}

/**
 * Builds the prompt that Agent-R's search sends (§1.2, §1.6 item 1): its opening, then the turns; shortened in its way when it is
 * longer than the limit.
 * @param maxTokenLength MAX_TOKEN_LENGTH of the original; null for no limit.
 */
export function publishedPrompt(
  opening: Opening,
  history: Conversation['history'],
  maxTokenLength: number | null,
  countTokens: CountTokens = (messages) => messages.reduce((sum, message) => sum + approximateTokens(message), 0),
): PublishedTrim {
  const { observation: firstObservation } = opening;
  const turns = promptMessages({ instruction: '', firstObservation, history }).slice(1);
  const messages = [...publishedOpening(opening), ...turns];
  if (maxTokenLength === null) return { kind: 'fits', messages };
  return trimAsPublished(messages, maxTokenLength - MARGIN, countTokens);
}
