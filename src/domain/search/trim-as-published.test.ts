import { describe, expect, test } from '@jest/globals';
import type { ChatMessage } from '../history/prompt.ts';
import { trimAsPublished } from './published-prompt.ts';

const chat = (...contents: string[]) =>
  contents.map((content, i): ChatMessage => ({ role: i === 0 ? 'system' : i % 2 ? 'user' : 'assistant', content }));
const count = (messages: readonly ChatMessage[]) => messages.length;

describe('trimAsPublished', () => {
  test('trimming drops the oldest observation with the next reply, so that the first reply follows a later observation', () => {
    const trimmed = trimAsPublished(chat('s', 'i', 'Ok.', 'o0', 'r1', 'o1', 'r2', 'o2'), 6, count);
    expect(trimmed).toEqual({ kind: 'fits', messages: chat('s', 'i', 'Ok.', 'o0', 'r1', 'o2') });
  });

  test('a trim that would loop for ever in the published program is reported', () => {
    expect(trimAsPublished(chat('s', 'i', 'Ok.', 'o0'), 3, count)).toEqual({ kind: 'too-long', limit: 3 });
  });
});
