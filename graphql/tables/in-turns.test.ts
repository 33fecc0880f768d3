import { expect, test } from '@jest/globals';
import { Gate } from '../limits/gate.ts';
import { inTurns, type TurnOptions } from './in-turns.ts';

const gate = new Gate({ running: 1 });
const enter = (of: AbortSignal) => gate.enter('k', of);
const signal = new AbortController().signal;

async function* parts(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield Uint8Array.of(i);
}

function options(overrides: Partial<TurnOptions> = {}): TurnOptions & { closed: number } {
  const of = {
    enter,
    closed: 0,
    close: async () => {
      of.closed++;
    },
    ...overrides,
  };
  return of;
}

test('between two parts the turn belongs to others', async () => {
  const of = options();
  const stream = inTurns(parts(2), of)(signal);
  expect((await stream.next()).value).toEqual(Uint8Array.of(0));
  const leave = await enter(signal); // the only one of the key
  leave();
  expect((await stream.next()).value).toEqual(Uint8Array.of(1));
  expect([(await stream.next()).done, of.closed > 0]).toEqual([true, true]);
});

test('a client that takes nothing closes what the stream reads from, and its answer breaks', async () => {
  let closed: () => void = () => undefined;
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const stream = inTurns(parts(3), options({ stallMs: 1, close: async () => closed() }))(signal);
  await stream.next();
  await whenClosed;
  await expect(stream.next()).rejects.toThrow('too slowly');
});
