import { describe, expect, test } from '@jest/globals';
import { Account } from './account.ts';
import { BUDGETS } from './budgets.ts';
import { type Turn, Turns } from './turns.ts';

const account = (name: string, running: number) => new Account(name, { ...BUDGETS.key, running }, () => 0);
const never = new AbortController().signal;

/** Who has a turn, in the order in which they got it. */
function watched(limit: number) {
  const turns = new Turns(limit);
  const began: string[] = [];
  const held = new Map<string, Turn>();
  return {
    began,
    async ask(name: string, key: Account, connection: Account, signal = never) {
      const turn = await turns.take({ key, connection }, signal);
      began.push(name);
      held.set(name, turn);
    },
    async end(name: string) {
      held.get(name)?.();
      await settled();
    },
  };
}
/** Lets every promise that is due go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  test('a key that asks once gets the next turn, however many queries of another key wait', async () => {
    const { began, ask, end } = watched(1);
    const [busy, honest] = [account('key', 9), account('key', 9)];
    const line = account('connection', 9);
    for (let i = 0; i < 40; i++) void ask(`busy ${i}`, busy, line);
    await settled();
    void ask('honest', honest, account('connection', 9));
    await end('busy 0');
    expect(began).toEqual(['busy 0', 'honest']);
    await end('honest');
    expect(began.at(-1)).toBe('busy 1');
  });

  test('within a key the connections take turns', async () => {
    const { began, ask, end } = watched(1);
    const key = account('key', 9);
    const [busy, honest] = [account('connection', 9), account('connection', 9)];
    for (let i = 0; i < 3; i++) void ask(`busy ${i}`, key, busy);
    for (let i = 0; i < 2; i++) void ask(`honest ${i}`, key, honest);
    await settled();
    for (let i = 0; i < 4; i++) await end(began.at(-1) ?? '');
    expect(began).toEqual(['busy 0', 'honest 0', 'busy 1', 'honest 1', 'busy 2']);
  });

  test('no key and no connection has more turns at once than its own limit', async () => {
    const { began, ask } = watched(10);
    const key = account('key', 3);
    const [one, two] = [account('connection', 2), account('connection', 2)];
    for (let i = 0; i < 5; i++) void ask(`one ${i}`, key, one);
    for (let i = 0; i < 5; i++) void ask(`two ${i}`, key, two);
    await settled();
    expect(began).toEqual(['one 0', 'one 1', 'two 0']);
  });

  test('a query whose caller leaves while it waits takes no turn', async () => {
    const { began, ask, end } = watched(1);
    const key = account('key', 9);
    const line = account('connection', 9);
    const leaving = new AbortController();
    void ask('first', key, line);
    const left = ask('left', key, line, leaving.signal);
    void ask('last', key, line);
    await settled();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await end('first');
    await end('first'); // again does nothing
    expect(began).toEqual(['first', 'last']);
  });
});
