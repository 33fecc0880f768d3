import { type ChatImage, type ChatMessage, type Conversation, promptMessages } from '../history/prompt.ts';
import { approximateTokens } from '../history/trim-turns.ts';
import { PYTHON_SPACE, pythonStrip } from '../text/python-strip.ts';

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

type PublishedTrim =
  | { readonly kind: 'fits'; readonly messages: readonly ChatMessage[] }
  /** What is never cut is above the limit by itself. The published code loops for ever here. */
  | { readonly kind: 'too-long'; readonly limit: number };

const KEPT = 5; // system, instruction, its acknowledgement, first observation, first reply

/**
 * Shortens a prompt as Agent-R's search does (specification, §1.6 item 1): while it counts more than `limit`, two messages go.
 * FastChat keeps the system text apart, so `del messages[4:6]` takes the sixth and seventh message of the chat: the oldest
 * observation with the *next* reply, and the first reply seems answered by a later observation (§6 item 15). `trimTurns` is the
 * sound form.
 * @param messages the system message first. @param limit MAX_TOKEN_LENGTH − 60 as published. @param countTokens of the whole
 * chat.
 */
export function trimAsPublished(
  messages: readonly ChatMessage[],
  limit: number,
  countTokens: (messages: readonly ChatMessage[]) => number,
): PublishedTrim {
  let kept = messages;
  while (countTokens(kept) > limit) {
    if (kept.length <= KEPT) return { kind: 'too-long', limit };
    kept = [...kept.slice(0, KEPT), ...kept.slice(KEPT + 2)];
  }
  return { kind: 'fits', messages: kept };
}

/** Which of the published modules read the reply: WebShop's has a slip of its own. */
type PublishedReplyStyle = 'webshop' | 'other';

/**
 * A reply as the published search keeps it. `response` is stored at the node, `turn` in the conversation, `action` is executed.
 */
interface PublishedReply {
  readonly action: string;
  readonly response: string;
  readonly turn: string;
}

/**
 * Reads a model's reply as Agent-R's search does (specification, §1.6 items 4 and 7). The action is what follows the last `Action
 * 1:`, else the last `Action:`, else the last line; a leading number with a dot goes. Nothing cuts it at a line end, so an
 * invented observation is executed too (§6 item 17): our own environments parse for themselves.
 */
export function readPublishedReply(reply: string, style: PublishedReplyStyle): PublishedReply {
  const stripped = pythonStrip(reply);
  const numberless = stripped.replaceAll('Action 1:', 'Action:');
  return {
    action: actionIn(stripped),
    // WebShop's module forgets the colon in what it stores at the node, not in the conversation.
    response: numberless.replaceAll('Thought 1:', style === 'webshop' ? 'Thought' : 'Thought:'),
    turn: numberless.replaceAll('Thought 1:', 'Thought:'),
  };
}

/**
 * Cleans an observation as the published search does: every newline and tab is one blank; its evaluation does not (§6 item 16).
 */
export function cleanPublishedObservation(observation: string): string {
  return observation.replaceAll(/[\n\t]/g, ' ');
}

/** A number in front of the action, as Python's `\d+\.\s*` reads it: digits of any script, and its white space. */
const NUMBER = new RegExp(`^\\p{Nd}+\\.${PYTHON_SPACE}*`, 'u');

function actionIn(reply: string): string {
  const marker = reply.includes('Action 1:') ? 'Action 1:' : 'Action:';
  const at = reply.lastIndexOf(marker);
  if (at < 0) return reply.slice(reply.lastIndexOf('\n') + 1);
  return pythonStrip(reply.slice(at + marker.length)).replace(NUMBER, '');
}
