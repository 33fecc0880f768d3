import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openEnvironment } from '../open-environment.ts';
import { openPythonTools } from './python-tools.ts';

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


@tool
def leave(word: str) -> str:
    """Ends the process."""
    import os

    os._exit(3)


@tool
def leave_slowly(word: str) -> str:
    """Breaks all connections, and ends the process later."""
    import os, time

    os.closerange(3, 200)
    time.sleep(1.6)
    os._exit(5)


@tool
def huge(word: str) -> str:
    """Returns 3,000,000 letters, which are 6 MB."""
    return "é" * 3_000_000


@tool
def overpaid(word: str) -> dict:
    """Returns a reward that is no number."""
    return {"content": word, "reward": float("nan")}


@tool
def wait(word: str) -> str:
    """Waits for ever."""
    import time

    time.sleep(100000)
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
  await expect(openEnvironment(address)).rejects.toThrow(
    'marks count_letter, shout, leave, leave_slowly, huge, overpaid, wait by @tool, and not whisper',
  );
});

test('a call over which the process of a Python file ends has failed with the exit code, and the next one is answered', async () => {
  const [count, , leave] = await openPythonTools(join(folder, 'my_tools.py'), 20_000);
  const signal = new AbortController().signal;
  try {
    const counted = () => count?.execute({ word: 'berry', letter: 'r' }, signal);
    expect(await counted()).toEqual({ content: '2' });
    await expect(leave?.execute({ word: '' }, signal)).rejects.toMatchObject({
      name: 'ToolError',
      message: `the process of ${join(folder, 'my_tools.py')} has ended (it ended with exit code 3)`,
    });
    expect(await counted()).toEqual({ content: '2' });
  } finally {
    await count?.close?.();
  }
});

test('every call that was in flight when a process ended names its exit code, and blames no call of its own', async () => {
  const [count, , , leave, , , wait] = await openPythonTools(join(folder, 'my_tools.py'), 20_000);
  const signal = new AbortController().signal;
  try {
    const calls = [wait, wait, leave].map((tool) => tool?.execute({ word: '' }, signal));
    const ended = await Promise.allSettled(calls);
    const message = `the process of ${join(folder, 'my_tools.py')} has ended (it ended with exit code 5)`;
    const reason = expect.objectContaining({ name: 'ToolUnavailable', message });
    expect(ended).toEqual(calls.map(() => ({ status: 'rejected', reason })));
    expect(await count?.execute({ word: 'berry', letter: 'r' }, signal)).toEqual({ content: '2' });
  } finally {
    await count?.close?.();
  }
});

test('a process that does not answer in time is replaced', async () => {
  const [count, , , , , , wait] = await openPythonTools(join(folder, 'my_tools.py'), 1_000);
  const signal = new AbortController().signal;
  try {
    await expect(wait?.execute({ word: '' }, signal)).rejects.toMatchObject({
      name: 'ToolError',
      message: expect.stringMatching(/^\/call of .*my_tools.py has not answered within 1000 ms/),
    });
    expect(await count?.execute({ word: 'berry', letter: 'r' }, signal)).toEqual({ content: '2' });
  } finally {
    await count?.close?.();
  }
});

test('a result of 6 MB in another alphabet arrives, and a reward that is no number fails the call', async () => {
  const [count, , , , huge, overpaid] = await openPythonTools(join(folder, 'my_tools.py'), 20_000);
  const signal = new AbortController().signal;
  try {
    expect(await huge?.execute({ word: '' }, signal)).toEqual({ content: 'é'.repeat(3_000_000) });
    await expect(overpaid?.execute({ word: 'a' }, signal)).rejects.toMatchObject({
      name: 'ToolError',
      message: expect.stringMatching(/^overpaid: the answer of a tool is no JSON: Out of range float/),
    });
  } finally {
    await count?.close?.();
  }
});
