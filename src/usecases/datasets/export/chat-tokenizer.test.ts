import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { tinyIds, writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { openChatTokenizer } from './chat-tokenizer.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-tokenizer-'));
});
afterEach(() => rm(folder, { recursive: true }));

const said = (role: 'system' | 'user' | 'assistant', text: string) => ({ role, parts: [{ kind: 'text' as const, text }] });

test('a chat is tokenised by the template of its folder with the opening of the reply, a reply with the token that ends it', async () => {
  const tokenizer = await openChatTokenizer(await writeTinyTokenizer(folder));
  expect(tokenizer.prompt({ messages: [said('system', 'Dö 🌳.'), said('user', 'a  b\n')], tools: null }, 'step 1')).toEqual(
    tinyIds('<|im_start|>system\nDö 🌳.<|im_end|>\n<|im_start|>user\na  b\n<|im_end|>\n<|im_start|>assistant\n'),
  );
  expect(tokenizer.reply({ messages: [], tools: null }, said('assistant', 'ok'), 'step 1')).toEqual(tinyIds('ok<|im_end|>'));
  expect(tokenizer.size).toBe(258);
});

test('a reply that calls a tool is tokenised as the template writes it behind its prompt, arguments as an object', async () => {
  await writeTinyTokenizer(folder);
  const template =
    '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';
  await writeFile(join(folder, 'chat_template.jinja'), template);
  const tokenizer = await openChatTokenizer(folder);
  const chat = { messages: [said('user', 'Weather?')], tools: null };
  const call = { kind: 'tool-call' as const, id: 'c', name: 'weather', arguments: '{"city": "Ulm"}' };
  expect(tokenizer.reply(chat, { role: 'assistant', parts: [call] }, 'step 1')).toEqual(
    tinyIds('<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call><|im_end|>'),
  );
});

test('equal files have one digest, and another template another', async () => {
  const { sha256 } = await openChatTokenizer(await writeTinyTokenizer(folder));
  expect((await openChatTokenizer(folder)).sha256).toBe(sha256);
  await writeFile(join(folder, 'chat_template.jinja'), '{{ messages[0].content }}');
  expect((await openChatTokenizer(folder)).sha256).not.toBe(sha256);
});

test.each<[string, string, string | null]>([
  ['no tokenizer', 'tokenizer.json', null],
  ['a configuration that is no JSON', 'tokenizer_config.json', '{'],
  ['no chat template', 'tokenizer_config.json', '{}'],
])('a folder with %s is refused with the file and the remedy', async (_, file, text) => {
  await writeTinyTokenizer(folder);
  if (text === null) await rm(join(folder, file));
  else await writeFile(join(folder, file), text);
  await expect(openChatTokenizer(folder)).rejects.toMatchObject({
    code: 'cannot-read',
    message: expect.stringMatching(new RegExp(`${file}.*name a folder of transformers`)),
  });
});

test('a prompt that the template does not take is named by its place', async () => {
  await writeTinyTokenizer(folder);
  await writeFile(join(folder, 'chat_template.jinja'), "{{ raise_exception('no system message') }}");
  const tokenizer = await openChatTokenizer(folder);
  expect(() => tokenizer.prompt({ messages: [said('user', 'a')], tools: null }, 'step 3')).toThrow(
    /^step 3: the chat template .* no system message/,
  );
});

test.each<[string, readonly number[], string, boolean]>([
  ['ids of the text with the token that ends it', tinyIds('look up<|im_end|>'), 'look up', true],
  ['ids of a text that the server stripped', tinyIds('<think>hm</think>\n look up'), 'look up', true],
  ['ids of a reply that says its call otherwise', tinyIds('{"name":"look"}'), 'call {"name": "look"}', true],
  ['the place of a choice', tinyIds('u'), 'look up', false],
  ['an id outside the vocabulary', [9_000], 'look up', false],
  ['ids of another text', tinyIds('take it'), 'look up', false],
  ['no text of an empty reply', tinyIds('<|im_end|>'), '', true],
])('%s are read as the reply or not', async (_, ids, text, known) => {
  const tokenizer = await openChatTokenizer(await writeTinyTokenizer(folder));
  expect(tokenizer.reads(ids, said('assistant', text))).toBe(known);
});
