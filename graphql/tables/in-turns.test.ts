import { expect, test } from '@jest/globals';
import { budgetsWith } from '../metering/budgets.ts';
import { Callers } from '../metering/callers.ts';
import { QueryMeter } from '../metering/query-meter.ts';
import { inTurns, type TurnOptions } from './in-turns.ts';

const caller = { key: 'k', rowsPerMinute: null };
const signal = new AbortController().signal;

async function* parts(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield Uint8Array.of(i);
}

function options(overrides: Partial<TurnOptions> = {}): TurnOptions & { closed: number } {
  const budgets = budgetsWith({ server: { running: 1 } });
  const callers = new Callers(budgets, Date.now);
  const of = {
    callers,
    account: callers.accountOf(caller),
    meter: new QueryMeter(budgets.query),
    waitMs: 30_000,
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
  const turn = await of.callers.turns.take(of.account, signal); // the only one of the server
  turn();
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

test('a caller that owes more rows than it may wait for is ended with when it may go on', async () => {
  const of = options({ waitMs: 1_000 });
  of.account.charge(of.account.budget.rowsPerMinute * 2);
  await expect(inTurns(parts(1), of)(signal).next()).rejects.toThrow('rows in a minute of a key');
  expect(of.closed).toBeGreaterThan(0);
});
