import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pythonForTests } from '../../../testing/python.ts';
import { writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { openChatTokenizer } from './chat-tokenizer.ts';

const found = await pythonForTests();

const PROGRAM = `
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
chats = json.load(open(sys.argv[2]))
print(json.dumps([list(tokenizer.apply_chat_template(c, add_generation_prompt=True, return_dict=False)) for c in chats]))
`;

const message = fc.record({
  role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
  content: fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '<|im_end|>', ' a\n\n b ', 'é🌳', '<|im_start|>user')),
});

(found.kind === 'found' ? test : test.skip)('random chats have the ids that transformers makes of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tokenizer-'));
  try {
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(folder));
    const chats = fc.sample(fc.array(message, { minLength: 1, maxLength: 5 }), { numRuns: 200, seed: 7 });
    await writeFile(join(folder, 'chats.json'), JSON.stringify(chats));
    const python = found.kind === 'found' ? found.python : '';
    const { stdout } = await promisify(execFile)(python, ['-c', PROGRAM, folder, join(folder, 'chats.json')], {
      maxBuffer: 2 ** 26,
    });
    const ours = chats.map((chat) =>
      tokenizer.prompt(
        { messages: chat.map(({ role, content }) => ({ role, parts: [{ kind: 'text' as const, text: content }] })), tools: null },
        'a chat',
      ),
    );
    expect(ours).toEqual(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
  } finally {
    await rm(folder, { recursive: true });
  }
});
