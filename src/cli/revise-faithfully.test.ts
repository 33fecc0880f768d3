import { describe, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { addRevise } from './revise.ts';

const RUN = '018f0000-0000-7000-8000-000000000001';
const FAITHFUL = ['--mode', 'faithful'];
const OUT = ['--out', 'rows.jsonl'];

/** Runs the command in this process. What these tests are about ends before a platform is opened. */
async function revise(...words: readonly string[]): Promise<void> {
  const program = new Command('espalier').option('--json').exitOverride();
  addRevise(program);
  for (const command of program.commands) command.exitOverride();
  const silent = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await program.parseAsync(['revise', '--run', RUN, ...words], { from: 'user' });
  } finally {
    silent.mockRestore();
  }
}

describe('the options of the two modes of revise', () => {
  test.each<[readonly string[], RegExp]>([
    [['--no-verify'], /^--mode faithful follows the published rules: leave out --no-verify$/],
    [['--signal', 'turn'], /leave out --signal$/],
    [['--unparsed', 'stop'], /leave out --unparsed$/],
    [['--before-branch', 'drop'], /leave out --before-branch$/],
    [['--revise', '0', '--judge', 'planner'], /^--revise 0 asks nobody: leave out --judge$/],
    [['--data-type', 'good', '--environment', 'textcraft'], /^--data-type good asks nobody: leave out --environment$/],
    [['--revise', '2'], /Allowed choices are 0, 1/],
    [['--data-type', 'all'], /Allowed choices are centric, good/],
    [['--max-token-length', '60'], /--max-token-length takes a whole number from 61/],
    [['--seed', '-1'], /--seed takes a whole number from 0/],
  ])('faithful mode refuses %j', async (words, message) => {
    await expect(revise(...FAITHFUL, ...OUT, ...words)).rejects.toThrow(message);
  });

  test('faithful mode needs an output file', async () => {
    await expect(revise(...FAITHFUL)).rejects.toThrow('--mode faithful writes rows to a file: name it with --out FILE');
  });

  test.each([
    [['--out', 'rows.jsonl']],
    [['--xtuner', 'rows.json']],
    [['--revise', '0']],
    [['--data-type', 'good']],
    [['--max-token-length', '4000']],
    [['--force']],
  ])('sound mode refuses %j, which belongs to faithful mode', async (words) => {
    await expect(revise(...words)).rejects.toThrow(`${words[0]} goes with --mode faithful`);
  });

  test('a third mode is refused', async () => {
    await expect(revise('--mode', 'exact')).rejects.toThrow('Allowed choices are sound, faithful');
  });
});
