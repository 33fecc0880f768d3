import { expect, test } from '@jest/globals';
import { whileAway } from './calls.ts';

/** A store that says when it goes and comes. */
function storeOf(said: string[]) {
  const say = (word: string) => async () => void said.push(word);
  return { env: {}, leave: say('left'), comeBack: say('back') };
}
const program = (source: string) => ['-e', source];

test('a program that ends before its first call ends the wait with what it printed', async () => {
  const said: string[] = [];
  const broken = program('process.stderr.write("no module named openai"); process.exitCode = 1');
  await expect(whileAway(process.execPath, broken, storeOf(said))).rejects.toThrow(
    /before its first call: no module named openai/,
  );
  expect(said).toEqual([]);
});

test('a program that cannot be started ends the wait with the reason', async () => {
  await expect(whileAway('/no/such/python', [], storeOf([]))).rejects.toThrow(/ENOENT/);
});

test('the store of a program that is ready is away until it has ended', async () => {
  const said: string[] = [];
  const ready = program('console.log("ready"); process.stdin.resume().on("end", () => process.exit())');
  expect(await whileAway(process.execPath, ready, storeOf(said))).toBeGreaterThan(0);
  expect(said).toEqual(['left', 'back']);
});
