import { expect, test } from '@jest/globals';
import { CloseStalled, closeInTurn } from './close-in-turn.ts';

const never = () => new Promise<void>(() => undefined);

test('parts are closed in turn, and one that does not end is named with what it waits for', async () => {
  const closed: string[] = [];
  const part = (what: string) => ({ what, close: async () => void closed.push(what) });
  const stalled = { what: 'the pool', close: never, state: () => '1 of its connections is in use' };
  const closing = closeInTurn([part('the log'), stalled, part('the server')], 5);
  await expect(closing).rejects.toThrow(
    new Error('closing the pool did not end within 0.005 s (1 of its connections is in use)'),
  );
  await expect(closing).rejects.toBeInstanceOf(CloseStalled);
  expect(closed).toEqual(['the log', 'the server']);
});

test('the first of several failures is thrown, after everything was closed', async () => {
  const closed: string[] = [];
  const failing = (what: string) => ({
    what,
    close: async () => {
      closed.push(what);
      throw new Error(what);
    },
  });
  await expect(closeInTurn([failing('a'), failing('b')])).rejects.toThrow(new Error('a'));
  expect(closed).toEqual(['a', 'b']);
});
