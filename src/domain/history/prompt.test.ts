import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ChatMessage, mergeSystem, promptMessages } from './prompt.ts';
import { approximateTokens, dropTurns, trimTurns } from './trim-turns.ts';

const conversation = {
  instruction: 'Craft things.',
  firstObservation: 'Goal: craft stick.',
  history: [
    { response: 'Thought: t\nAction: a1', observation: 'o1' },
    { response: 'Thought: t\nAction: a2', observation: 'o2' },
    { response: 'Thought: t\nAction: a3', observation: 'o3' },
  ],
};
const one = (): number => 1;

describe('promptMessages', () => {
  test('a prompt starts with the instruction and ends with the current observation', () => {
    expect(promptMessages(conversation)).toEqual([
      { role: 'system', content: 'Craft things.' },
      { role: 'user', content: 'Goal: craft stick.' },
      { role: 'assistant', content: 'Thought: t\nAction: a1' },
      { role: 'user', content: 'o1' },
      { role: 'assistant', content: 'Thought: t\nAction: a2' },
      { role: 'user', content: 'o2' },
      { role: 'assistant', content: 'Thought: t\nAction: a3' },
      { role: 'user', content: 'o3' },
    ]);
  });

  test('an empty instruction adds no system message', () => {
    expect(promptMessages({ ...conversation, instruction: '', history: [] })).toEqual([
      { role: 'user', content: 'Goal: craft stick.' },
    ]);
  });

  test('a merged system text leads the first user message, and roles still alternate', () => {
    const merged = mergeSystem(promptMessages(conversation));
    expect(merged[0]).toEqual({ role: 'user', content: 'Craft things.\n\nGoal: craft stick.' });
    expect(merged.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
    expect(mergeSystem(merged)).toEqual(merged);
  });
});

describe('trimTurns', () => {
  const messages = promptMessages(conversation);

  test('a prompt within the limit stays whole', () => {
    expect(trimTurns(messages, 8, one)).toEqual({ kind: 'fits', messages, trimmed: null, tokens: 8 });
  });

  test('one token over the limit drops the oldest reply together with its own observation', () => {
    const trimmed = trimTurns(messages, 7, one);
    expect(trimmed).toEqual({
      kind: 'fits',
      messages: [...messages.slice(0, 2), ...messages.slice(4)],
      trimmed: { from: 0, to: 1 },
      tokens: 6,
    });
  });

  test('the head and the newest turn are never dropped', () => {
    expect(trimTurns(messages, 4, one)).toMatchObject({ kind: 'fits', trimmed: { from: 0, to: 2 }, tokens: 4 });
    expect(trimTurns(messages, 3, one)).toEqual({ kind: 'too-long', headTokens: 2, newestTurnTokens: 2, limit: 3 });
  });

  test('a head above the limit fails instead of looping', () => {
    expect(trimTurns(messages.slice(0, 2), 1, one)).toEqual({ kind: 'too-long', headTokens: 2, newestTurnTokens: 0, limit: 1 });
  });

  test('trimming keeps the longest suffix of turns that fits after the whole head', () => {
    const turn = fc.record({ response: fc.string(), observation: fc.string() });
    const length = (message: ChatMessage): number => message.content.length + 1;
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), fc.nat(200), (history, limit) => {
        const whole = promptMessages({ ...conversation, history });
        const result = trimTurns(whole, limit, length);
        const total = (part: readonly ChatMessage[]): number => part.reduce((sum, message) => sum + length(message), 0);
        if (result.kind === 'too-long') {
          expect(total([...whole.slice(0, 2), ...(history.length ? whole.slice(-2) : [])])).toBeGreaterThan(limit);
          return;
        }
        const dropped = result.trimmed?.to ?? 0;
        expect(result.messages).toEqual([...whole.slice(0, 2), ...whole.slice(2 + 2 * dropped)]);
        expect(result.tokens).toBe(total(result.messages));
        expect(result.tokens).toBeLessThanOrEqual(limit);
        if (dropped > 0) expect(total([...whole.slice(0, 2), ...whole.slice(2 * dropped)])).toBeGreaterThan(limit);
      }),
    );
  });

  test('dropTurns drops the oldest turns but never the newest', () => {
    expect(dropTurns(messages, 1)).toEqual({
      messages: [...messages.slice(0, 2), ...messages.slice(4)],
      trimmed: { from: 0, to: 1 },
    });
    expect(dropTurns(messages, 99).messages).toEqual([...messages.slice(0, 2), ...messages.slice(6)]);
    expect(dropTurns(messages.slice(0, 2), 1)).toEqual({ messages: messages.slice(0, 2), trimmed: null });
  });

  test('the estimate counts bytes, so that a text without blanks or in another script is not underestimated', () => {
    expect(approximateTokens({ role: 'user', content: 'abcdef' })).toBe(6);
    expect(approximateTokens({ role: 'user', content: '木木' })).toBe(6);
  });
});
