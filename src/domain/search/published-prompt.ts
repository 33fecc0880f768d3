import { type ChatMessage, type Conversation, promptMessages } from '../history/prompt.ts';
import { approximateTokens } from '../history/trim-turns.ts';
import { type PublishedTrim, trimAsPublished } from './trim-as-published.ts';

const SYSTEM = 'You are a helpful assistant.'; // of FastChat's template `chatgpt`
const ACKNOWLEDGEMENT = 'Ok.';
const MARGIN = 60; // tokens that the published search leaves below its limit

/** Counts the tokens of a whole chat. */
export type CountTokens = (messages: readonly ChatMessage[]) => number;

/**
 * Builds the prompt that Agent-R's search sends (§1.2, §1.6 item 1): a system sentence, the instruction as the first user message with its
 * acknowledgement, then the first observation and the turns; shortened in its way when it is longer than the limit.
 * @param maxTokenLength MAX_TOKEN_LENGTH of the original; null for no limit.
 */
export function publishedPrompt(
  { instruction, observation }: { readonly instruction: string; readonly observation: string },
  history: Conversation['history'],
  maxTokenLength: number | null,
  countTokens: CountTokens = (messages) => messages.reduce((sum, message) => sum + approximateTokens(message), 0),
): PublishedTrim {
  const messages: ChatMessage[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: instruction },
    { role: 'assistant', content: ACKNOWLEDGEMENT },
    ...promptMessages({ instruction: '', firstObservation: observation, history }),
  ];
  if (maxTokenLength === null) return { kind: 'fits', messages };
  return trimAsPublished(messages, maxTokenLength - MARGIN, countTokens);
}
