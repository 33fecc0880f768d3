import { describe, expect, test } from '@jest/globals';
import { Gate } from './gate.ts';

const never = new AbortController().signal;

/** Who has a turn, in the order in which they got it. */
function watched(running: number, ofKey: number) {
  const gate = new Gate({ running: ofKey, server: { running, subscriptions: 1 } });
  const began: string[] = [];
  const held = new Map<string, () => void>();
  return {
    began,
    async ask(name: string, key: string, signal = never) {
      const leave = await gate.enter(key, signal);
      began.push(name);
      held.set(name, leave);
    },
    async end(name: string) {
      held.get(name)?.();
      await settled();
    },
  };
}
/** Lets every promise that is due go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the gate', () => {
  test('a key that asks once gets the next turn, however many queries of another key wait', async () => {
    const { began, ask, end } = watched(1, 1);
    for (let i = 0; i < 40; i++) void ask(`busy ${i}`, 'busy');
    await settled();
    void ask('honest', 'honest');
    await settled();
    await end('busy 0');
    expect(began).toEqual(['busy 0', 'honest']);
    await end('honest');
    expect(began.at(-1)).toBe('busy 1');
  });

  test('no key has more turns at once than its own share', async () => {
    const { began, ask } = watched(10, 2);
    for (let i = 0; i < 5; i++) void ask(`one ${i}`, 'one');
    for (let i = 0; i < 5; i++) void ask(`two ${i}`, 'two');
    await settled();
    expect(began.sort()).toEqual(['one 0', 'one 1', 'two 0', 'two 1']);
  });

  test('a query whose caller leaves while it waits takes no turn', async () => {
    const { began, ask, end } = watched(1, 9);
    const leaving = new AbortController();
    void ask('first', 'key');
    const left = ask('left', 'key', leaving.signal);
    void ask('last', 'key');
    await settled();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await end('first');
    await end('first'); // again does nothing
    expect(began).toEqual(['first', 'last']);
  });
});
