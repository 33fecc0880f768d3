import { describe, expect, test } from '@jest/globals';
import { clientAction } from './client-action.ts';

describe('clientAction', () => {
  test('clientAction sends the bare action of Agent-R unchanged in 2025-03, and as nothing since 2025-09', () => {
    for (const family of ['segment', 'textcraft', 'babyai'] as const) {
      expect(clientAction(family, '2025-03', 'look around')).toEqual({ kind: 'post', action: 'look around' });
      expect(clientAction(family, '2025-09', 'look around')).toEqual({ kind: 'post', action: '' });
    }
  });

  test('segment clients send the first of two actions in 2025-03, and the last since 2025-09', () => {
    const text = 'Thought: t\nAction: open box\nAction: go to hall</s>';
    expect(clientAction('segment', '2025-03', text)).toEqual({ kind: 'post', action: 'open box' });
    // five characters cut for four
    expect(clientAction('segment', '2025-09', text)).toEqual({ kind: 'post', action: 'go to hal' });
  });

  test('a WebShop call without a marker is still posted since 2025-09', () => {
    expect(clientAction('segment', '2025-09', 'click[buy now]')).toEqual({ kind: 'post', action: 'click[buy now]' });
  });

  test('a raw client posts its whole input', () => {
    expect(clientAction('raw', '2025-09', '<think>x</think> <search>y</search>')).toEqual({
      kind: 'post',
      action: '<think>x</think> <search>y</search>',
    });
  });
});
