/** One message of a chat, as every chat model's protocol has it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** What a prompt is rebuilt from: the task's opening, then each turn (a reply and the observation that followed it). */
export interface Conversation {
  readonly instruction: string;
  readonly firstObservation: string;
  readonly history: readonly { readonly response: string; readonly observation: string }[];
}

/**
 * Builds the chat of a conversation: the instruction as system message, the first observation as user message, then assistant and
 * user in turn; the last message is the agent's current state. An empty instruction yields no system message: some servers refuse
 * an empty one.
 */
export function promptMessages(conversation: Conversation): ChatMessage[] {
  const messages: ChatMessage[] = [];
  if (conversation.instruction !== '') messages.push({ role: 'system', content: conversation.instruction });
  messages.push({ role: 'user', content: conversation.firstObservation });
  for (const turn of conversation.history) {
    messages.push({ role: 'assistant', content: turn.response }, { role: 'user', content: turn.observation });
  }
  return messages;
}

/** Moves the system text to the front of the first user message, for models whose template knows no system role. */
export function mergeSystem(messages: readonly ChatMessage[]): ChatMessage[] {
  const [system, user, ...rest] = messages;
  if (system?.role !== 'system' || user?.role !== 'user') return [...messages];
  return [{ role: 'user', content: `${system.content}\n\n${user.content}` }, ...rest];
}
