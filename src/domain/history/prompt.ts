/** One message of a chat, as every chat model's protocol has it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Pictures behind the text, in order. */
  readonly images?: readonly ChatImage[];
}

/** A picture of a chat. */
export interface ChatImage {
  /** SHA-256 of size and pixels. */
  readonly imageId: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array;
}

/** What a prompt is rebuilt from: the task's opening, then each turn (a reply and the observation that followed it). */
export interface Conversation {
  readonly instruction: string;
  readonly firstObservation: string;
  readonly firstImages?: readonly ChatImage[];
  readonly history: readonly {
    readonly response: string;
    readonly observation: string;
    readonly images?: readonly ChatImage[];
  }[];
}

/**
 * Builds the chat of a conversation: the instruction as system message, the first observation as user message, then assistant and
 * user in turn; the last message is the agent's current state. An empty instruction yields no system message: some servers refuse
 * an empty one.
 */
export function promptMessages(conversation: Conversation): ChatMessage[] {
  const messages: ChatMessage[] = [];
  if (conversation.instruction !== '') messages.push({ role: 'system', content: conversation.instruction });
  messages.push(userMessage(conversation.firstObservation, conversation.firstImages));
  for (const turn of conversation.history) {
    messages.push({ role: 'assistant', content: turn.response }, userMessage(turn.observation, turn.images));
  }
  return messages;
}

function userMessage(content: string, images: readonly ChatImage[] = []): ChatMessage {
  return { role: 'user', content, ...(images.length > 0 ? { images } : {}) };
}

/** Moves the system text to the front of the first user message, for models whose template knows no system role. */
export function mergeSystem(messages: readonly ChatMessage[]): ChatMessage[] {
  const [system, user, ...rest] = messages;
  if (system?.role !== 'system' || user?.role !== 'user') return [...messages];
  return [{ ...user, content: `${system.content}\n\n${user.content}` }, ...rest];
}
