import { createRandom } from '../../src/domain/random/random.ts';
import { seedFrom } from '../../src/domain/random/seed-from.ts';
import type { ActRequest, Policy } from '../../src/policies/policy.ts';
import { textCraftAgent } from '../../src/testing/textcraft-agent.ts';

/** What a model is shown at a node of a search. */
export type Shown = Pick<ActRequest, 'firstObservation' | 'history'>;

/** How often each choice of the stand-in is drawn, of ten: the step that the goal needs, a look, and what it has already. */
const CHOICES = [0, 0, 0, 0, 0, 1, 1, 2, 2, 3] as const;

/**
 * Samples of a model say the same in other words, so that some replies repeat another one to the letter and more repeat its
 * action.
 */
const WORDINGS = ['', ' Let me see.'] as const;

/**
 * Returns the reply of this number at a node: drawn from what was said and seen on the way there, so that whoever asks at the
 * same node gets the same replies, all at once or one by one.
 */
export function answerAt({ firstObservation, history }: Shown, ordinal: number): string {
  const said = history.map(({ response }) => response);
  const random = createRandom(seedFrom('answer', firstObservation, ...said, ordinal));
  const messages = [
    { role: 'user' as const, content: firstObservation },
    ...history.flatMap(({ response, observation }) => [
      { role: 'assistant' as const, content: response },
      { role: 'user' as const, content: observation },
    ]),
  ];
  const reply = textCraftAgent({ messages }, random.choice(CHOICES));
  return reply.replace('\nAction:', `${random.choice(WORDINGS)}\nAction:`);
}

/** A policy that answers so. */
export const answering: Policy = {
  ref: { policyId: 'answering', version: 0 },
  act: async (request) =>
    Array.from({ length: request.n }, (_, ordinal) => {
      return { response: answerAt(request, ordinal), tokens: null, usage: null, finishReason: 'stop' };
    }),
  close: async () => undefined,
};
