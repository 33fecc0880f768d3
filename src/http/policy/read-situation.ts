import type { Situation } from '../../policies/linear/situation.ts';
import type { ChatRequest } from './chat-request.ts';
import { actionOf, goalOf, listedIn } from './read-reply.ts';

/** The state of a chat and what can be done there; or why it cannot be read. */
export type ReadChat =
  | { readonly kind: 'read'; readonly situation: Situation; readonly candidates: readonly string[] }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Reads a chat back as the situation that it was made of: the first user message is the first observation, each reply and the
 * message after it a step. The goal is what follows `Goal: craft`, `Your task:` or `Question:`, to the end of its line, unless a
 * field holds it. Actions are those of the field, else the list `What you can do now: ['…' …]` of the last message.
 */
export function readSituation({ messages, goal, admissible_actions: given }: ChatRequest): ReadChat {
  const exchanged = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  const [opening, ...turns] = exchanged;
  const last = exchanged.at(-1);
  if (opening?.role !== 'user' || last?.role !== 'user')
    return { kind: 'refused', reason: 'messages: the first and the last (system ones aside) must be of the user' };
  const history: { action: string; observation: string }[] = [];
  for (let i = 0; i < turns.length; i += 2) {
    const [reply, answer] = [turns[i], turns[i + 1]];
    if (reply?.role !== 'assistant' || answer?.role !== 'user')
      return { kind: 'refused', reason: `messages: replies and observations do not alternate at message ${i + 1}` };
    history.push({ action: actionOf(reply.content), observation: answer.content });
  }
  const candidates = given ?? listedIn(last.content);
  if (candidates === null || candidates.length === 0)
    return {
      kind: 'refused',
      reason:
        'this policy chooses among actions and was given none: send them as admissible_actions, or let the last message end with What you can do now: [...]',
    };
  return {
    kind: 'read',
    situation: { goal: goal ?? goalOf(opening.content), firstObservation: opening.content, history },
    candidates,
  };
}
