import type { PastStep } from '../../../src/policies/policy.ts';
import type { ChatRequest } from '../../../src/testing/openai-server.ts';
import { answerAt } from '../../bench/agentgym-search-answers.ts';

/**
 * Replies of a stand-in of a model that plays TextCraft, drawn from the task's opening and what was said since: whoever asks at
 * the same node gets the same, in whatever words the program that asks instructs its model.
 */
export function modelReply({ messages }: Pick<ChatRequest, 'messages'>, choice: number): string {
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && /^Goal: craft /m.test(content));
  const firstObservation = messages[at]?.content ?? '';
  const history: PastStep[] = [];
  for (let i = at + 1; i < messages.length; i += 2) {
    const response = messages[i]?.content ?? '';
    const action = response.split('\nAction: ').at(-1) ?? '';
    history.push({ response, action, observation: messages[i + 1]?.content ?? '' });
  }
  return answerAt({ firstObservation, history }, choice);
}
