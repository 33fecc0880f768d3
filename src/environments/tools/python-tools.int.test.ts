import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openEnvironment } from '../open-environment.ts';

const SOURCE = `
from espalier_rl import tool


@tool
def count_letter(word: str, letter: str) -> str:
    """Counts how often a letter occurs in a word."""
    return str(word.count(letter))


@tool
def shout(word: str) -> str:
    """Returns a word in capitals."""
    return word.upper()
`;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'python-tools-'));
  await writeFile(join(folder, 'my_tools.py'), SOURCE);
  await writeFile(
    join(folder, 'tasks.jsonl'),
    `${JSON.stringify({ id: 'a', question: 'How many r in berry?', ground_truth: '2', data_source: 'letters' })}\n`,
  );
});
afterAll(() => rm(folder, { recursive: true }));

test('functions of a Python file are tools of an episode, with their schema from the type hints', async () => {
  const address = `tool-env:profile=nous;tools=${join(folder, 'my_tools.py')};tasks=${join(folder, 'tasks.jsonl')}`;
  const kind = await openEnvironment(address);
  try {
    const episode = await kind.create();
    const [alias = ''] = kind.taskAliases;
    const { instruction } = await episode.reset({ alias, seed: 0 });
    expect(instruction).toContain('Counts how often a letter occurs in a word.');
    expect(instruction).toContain('shout');
    const call = '<tool_call>{"name": "count_letter", "arguments": {"word": "berry", "letter": "r"}}</tool_call>';
    const result = await episode.step(call);
    expect(result.toolCalls).toMatchObject([{ tool: 'count_letter', output: '2', outcome: 'ok' }]);
    const wrong = '<tool_call>{"name": "count_letter", "arguments": {"word": "berry"}}</tool_call>';
    expect((await episode.step(wrong)).toolCalls).toMatchObject([{ outcome: 'error' }]);
    await episode.close();
  } finally {
    await kind.close();
  }
});

test('a Python file that marks no such function is refused with those that it marks', async () => {
  const address = `tool-env:tools=${join(folder, 'my_tools.py')}#whisper;tasks=${join(folder, 'tasks.jsonl')}`;
  await expect(openEnvironment(address)).rejects.toThrow('marks count_letter, shout by @tool, and not whisper');
});
