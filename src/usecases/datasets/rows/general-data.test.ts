import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { generalBodies, openGeneralData } from './general-data.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'general-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function open(conversation: object, eta = 0.5) {
  const path = join(folder, 'general.jsonl');
  await writeFile(path, `${JSON.stringify(conversation)}\n`);
  return openGeneralData({ path, eta, seed: 1 }, 'xtuner');
}
const said = (...turns: readonly [string, string][]) => ({ conversations: turns.map(([from, value]) => ({ from, value })) });

test.each<[string, object]>([
  ['ShareGPT', said(['human', 'Here is my code.'], ['human', 'Why does it fail?'], ['gpt', 'A name is missing.'])],
  [
    'chat',
    {
      messages: [
        { role: 'user', content: 'Here is my code.' },
        { role: 'user', content: 'Why does it fail?' },
        { role: 'assistant', content: 'A name is missing.' },
      ],
    },
  ],
])('a reply to two user messages of a %s answers both, and neither is dropped', async (_, conversation) => {
  const [messages = []] = (await open(conversation)).behind(1);
  expect(messages).toEqual([
    { role: 'user', content: 'Here is my code.\n\nWhy does it fail?' },
    { role: 'assistant', content: 'A name is missing.', loss: true },
  ]);
  expect(generalBodies(messages, 'xtuner')).toEqual([
    { conversation: [{ input: 'Here is my code.\n\nWhy does it fail?', output: 'A name is missing.', output_with_loss: true }] },
  ]);
});

test('three user messages in a row become one, also later in the conversation', async () => {
  const turns = said(['human', 'a'], ['gpt', 'A'], ['human', 'b'], ['human', 'c'], ['human', 'd'], ['gpt', 'D']);
  const [messages = []] = (await open(turns)).behind(1);
  expect(messages.map(({ content }) => content)).toEqual(['a', 'A', 'b\n\nc\n\nd', 'D']);
});

test('a share of agent data that would fill the disk is refused with its size, and the least one is accepted', async () => {
  const turns = said(['human', 'a'], ['gpt', 'A']);
  await expect(open(turns, 1e-10)).rejects.toMatchObject({
    code: 'invalid-query',
    message: "eta is 1e-10: 9,999,999,999 general examples for each of the agent's; give at least 0.0001",
  });
  await expect(open(turns, 0)).rejects.toThrow('above 0 and at most 1');
  expect((await open(turns, 1e-4)).behind(1)).toHaveLength(9_999);
});
