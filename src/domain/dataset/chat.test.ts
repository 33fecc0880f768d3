import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { promptMessages } from '../history/prompt.ts';
import { shareGptTurns, weightedChat } from './chat.ts';
import { contextOf, turnWeights } from './turn-weights.ts';

const conversation = fc.record({
  instruction: fc.string(),
  firstObservation: fc.string(),
  history: fc.array(fc.record({ response: fc.string(), observation: fc.string() }), { minLength: 1, maxLength: 6 }),
});

describe('training chats', () => {
  test('each reply of any trajectory follows exactly the prompt that the policy saw', () => {
    fc.assert(
      fc.property(conversation, (recorded) => {
        const chat = weightedChat(
          recorded,
          recorded.history.map(() => 1),
        );
        expect(chat.at(-1)?.role).toBe('assistant');
        const bare = chat.map(({ role, content }) => ({ role, content }));
        for (let turn = 0; turn < recorded.history.length; turn++) {
          const prompt = promptMessages({ ...recorded, history: recorded.history.slice(0, turn) });
          expect(bare.slice(0, prompt.length)).toEqual(prompt);
          expect(bare[prompt.length]).toEqual({ role: 'assistant', content: recorded.history[turn]?.response });
        }
      }),
    );
  });

  test('only assistant messages of any trajectory carry a weight, in the order of the turns', () => {
    fc.assert(
      fc.property(conversation, fc.infiniteStream(fc.constantFrom(0 as const, 1 as const)), (recorded, stream) => {
        const weights = recorded.history.map(() => (stream.next().value ?? 0) as 0 | 1); // the stream does not end
        const chat = weightedChat(recorded, weights);
        expect(chat.filter(({ role }) => role === 'assistant').map(({ weight }) => weight)).toEqual(weights);
        expect(chat.filter(({ role }) => role !== 'assistant').every((message) => !('weight' in message))).toBe(true);
        const gpt = shareGptTurns(recorded, weights, 'Ok.').filter(({ from }) => from === 'gpt');
        expect(gpt.slice(recorded.instruction === '' ? 0 : 1).map(({ loss }) => loss)).toEqual(
          weights.map((weight) => weight === 1),
        );
      }),
    );
  });
});

describe('the weight of a turn', () => {
  const turn = (rolloutId: string | null, ...policies: string[]) => ({
    rolloutId,
    policySpans: policies.map((policyId) => ({ policyId })),
  });
  const rollout = { rolloutId: 'mine', policyId: 'student' };

  test('a turn of the rollout’s policy is trained on wherever it was taken; a turn of another policy is context', () => {
    const turns = [turn('other', 'student'), turn(null, 'student'), turn('mine', 'student'), turn('mine', 'guide')];
    expect(turnWeights(turns, rollout, 'policy')).toEqual([1, 1, 1, 0]);
  });

  test('the rule `own` trains only on the turns that the rollout itself took', () => {
    const turns = [turn('other', 'student'), turn(null, 'student'), turn('mine', 'student'), turn('mine', 'guide')];
    expect(turnWeights(turns, rollout, 'own')).toEqual([0, 0, 1, 0]);
  });

  test('a turn that the policy wrote in part counts; one marked as context does not', () => {
    expect(turnWeights([turn('mine', 'guide', 'student'), turn('mine', contextOf('student'))], rollout, 'policy')).toEqual([
      1, 0,
    ]);
  });
});
