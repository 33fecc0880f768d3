import { describe, expect, test } from '@jest/globals';
import { Command, type Option } from 'commander';
import { COMMANDS } from './commands.ts';
import { numberBetween } from './with-platform.ts';

/** Every option of every command, with the words that lead to it. */
async function options(): Promise<[string, Option][]> {
  const program = new Command('espalier');
  for (const { load } of Object.values(COMMANDS)) (await load())(program);
  const of = (command: Command, words: string): [string, Option][] => [
    ...command.options.map((option): [string, Option] => [`${words} ${option.long ?? option.short}`, option]),
    ...command.commands.flatMap((inner) => of(inner, `${words} ${inner.name()}`)),
  ];
  return of(program, 'espalier');
}

test('every numeric option refuses a value that is not a number in one sentence that names the option', async () => {
  const read: string[] = [];
  for (const [name, { long, parseArg, argChoices, defaultValue }] of await options()) {
    if (!parseArg || argChoices) continue; // of choices commander itself names the option
    let value: unknown;
    try {
      value = parseArg('abc', defaultValue);
    } catch (error) {
      const { message } = error as Error;
      expect([name, message]).toEqual([name, expect.stringContaining(String(long))]);
      expect([name, message]).toEqual([name, expect.not.stringMatching(/[\n[{]/)]);
      read.push(name);
      continue;
    }
    expect([name, typeof value === 'number']).toEqual([name, false]); // NaN would go on into a plan
  }
  expect(read).toEqual(
    expect.arrayContaining(['espalier collect --exploration', 'espalier revise --alpha', 'espalier render --cf']),
  );
});

describe('numbers on the command line', () => {
  test.each(['0.25', '.5', '1.', '1e-2', '+1', '-0'])('%j is accepted as a number from 0 to 1', (text) => {
    expect(numberBetween('--exploration', 0, 1)(text)).toBe(Number(text));
  });

  test.each(['', ' ', 'abc', '0x1', 'Infinity', 'NaN', '1,5', '2', '-0.1', '1 2'])(
    '%j is refused as a number from 0 to 1',
    (text) => {
      expect(() => numberBetween('--exploration', 0, 1)(text)).toThrow(
        `--exploration takes a number from 0 to 1, not ${JSON.stringify(text)}`,
      );
    },
  );
});
