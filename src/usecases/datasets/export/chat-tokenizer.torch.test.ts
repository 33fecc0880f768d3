import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { consumersForTests, pythonForTests } from '../../../testing/python.ts';
import { writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { openChatTokenizer } from './chat-tokenizer.ts';
import { partMessages } from './message-forms.ts';

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

const CALLING = `
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
for chat in json.load(open(sys.argv[2])):
    made = tokenizer.apply_chat_template(chat["messages"], tools=chat["tools"], add_generation_prompt=True, return_dict=False)
    print(json.dumps(list(made)))
`;

/** What TRL's package holds as these models publish it, and how many calls of tools a reply may have by it. */
const PUBLISHED = { qwen2_5: 2, qwen3: 2, qwen3_instruct_2507: 2, llama3_1: 1, llama3_2: 1 } as const;

/** Of a version that no package holds as it was published: a template with the constructs by which it writes tools, calls and results. */
const ALIKE = {
  Mistral: `{%- set users = messages | selectattr("role", "equalto", "user") | list %}{%- set ns = namespace(index=0) %}
{%- for message in messages %}
  {%- if message["role"] == "user" %}{%- if tools is not none and message == users[-1] %}{{- "[AVAILABLE_TOOLS][" }}{%- for tool in tools %}{%- set tool = tool.function %}{{- '{"type": "function", "function": {' }}{%- for key, val in tool.items() if key != "return" %}{%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}{{- "}}" }}{%- endfor %}{{- "]" }}{%- endif %}{{- "[INST]" + message["content"] + "[/INST]" }}
  {%- elif message.tool_calls is defined and message.tool_calls is not none %}{{- "[TOOL_CALLS][" }}{%- for tool_call in message.tool_calls %}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}{{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]<|im_end|>" }}{%- endif %}{%- endfor %}
  {%- elif message["role"] == "tool" %}{%- set ns.index = ns.index + 1 %}{{- '[TOOL_RESULTS]{"content": ' + message.content|string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
  {%- else %}{{- " " + message["content"]|trim + "<|im_end|>" }}{%- endif %}
{%- endfor %}`,
};

const TOOLS = JSON.stringify([
  {
    type: 'function',
    function: {
      name: 'weather',
      description: "It's <b>Ulm's</b> weather & more: é🌳",
      parameters: {
        type: 'object',
        // Hermes trims descriptions, of which @huggingface/jinja refuses one that is not there
        properties: { city: { type: 'string', description: 'Where. ' }, days: { type: 'integer', description: 'How many.' } },
        required: ['city'],
      },
    },
  },
]);
const texts = fc.constantFrom('a', ' é🌳 ', 'x "quoted" <b> & \'more\' \\ end', 'two\nlines', '<|im_end|>');
const given = fc.constantFrom(
  '{"city": "Ulm"}',
  '{"city": "Neu-Ulm é🌳 <&> \'x\'", "days": 3, "all": [true, null, 0.5, {"a": {}}]}',
  '{}',
);
const turn = fc.record({ text: texts, arguments: given, result: texts, calls: fc.integer({ min: 0, max: 2 }) });

/** Compares the ids of random chats with calls of tools by a template with those that transformers makes of the exported messages. */
async function expectTheirIds(python: string, template: string, mostCalls: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tokenizer-'));
  try {
    await writeTinyTokenizer(folder);
    await writeFile(join(folder, 'chat_template.jinja'), template);
    const tokenizer = await openChatTokenizer(folder);
    const text = (said: string) => [{ kind: 'text' as const, text: said }];
    // the messages of the user differ: transformers compares them by value (`message == users[-1]`), @huggingface/jinja by identity
    const chats = fc.sample(fc.array(turn, { minLength: 1, maxLength: 3 }), { numRuns: 60, seed: 7 }).map((turns) => [
      { role: 'system' as const, parts: text('Be brief.') },
      { role: 'user' as const, parts: text('Weather?') },
      ...turns.flatMap((each, at): PolicyMessage[] => {
        const ids = Array.from({ length: Math.min(each.calls, mostCalls) }, (__, i) => `call${at}${i}xyz`);
        const calls = ids.map((id) => ({ kind: 'tool-call' as const, id, name: 'weather', arguments: each.arguments }));
        const results = ids.map((id) => ({ role: 'tool' as const, parts: text(each.result), toolCallId: id, name: 'weather' }));
        return [
          { role: 'assistant', parts: [...text(each.text), ...calls] },
          ...results,
          { role: 'user', parts: text(`On ${at}.`) },
        ];
      }),
    ]);
    const rows = chats.map((messages) => ({ messages: partMessages(messages, false), tools: JSON.parse(TOOLS) }));
    await writeFile(join(folder, 'chats.json'), JSON.stringify(rows));
    const { stdout } = await promisify(execFile)(python, ['-c', CALLING, folder, join(folder, 'chats.json')], {
      maxBuffer: 2 ** 26,
    });
    const theirs = stdout
      .trim()
      .split('\n')
      .slice(-chats.length)
      .map((line) => JSON.parse(line));
    expect(chats.map((messages) => tokenizer.prompt({ messages, tools: TOOLS }, 'a chat'))).toEqual(theirs);
  } finally {
    await rm(folder, { recursive: true });
  }
}

(found.kind === 'found' ? test : test.skip).each(Object.entries(ALIKE))(
  'chats with tools, their calls and results have the ids that transformers makes of the exported messages, by a template such as that of %s',
  (_, template) => expectTheirIds(found.kind === 'found' ? found.python : '', template, 2),
);

/** Templates as they are published (`fixtures/chat-templates/README.md`). */
const published = (name: string) => readFile(new URL(`./fixtures/chat-templates/${name}.jinja`, import.meta.url), 'utf8');

(found.kind === 'found' ? test : test.skip).each(['mistral-v13', 'hermes'])(
  'chats with tools, their calls and results have the ids that transformers makes of the exported messages, by the template %s of a package',
  async (name) => expectTheirIds(found.kind === 'found' ? found.python : '', await published(name), 2),
);

test('a template is refused that joins what it marks as safe to other text, which transformers escapes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tokenizer-'));
  try {
    await writeTinyTokenizer(folder);
    await writeFile(join(folder, 'chat_template.jinja'), await published('mistral-v7'));
    await expect(openChatTokenizer(folder)).rejects.toThrow(
      /it joins arguments, which it marks as safe, .*: drop `\|safe` from it/,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

const trl = await consumersForTests();
const TEMPLATES_OF_TRL = `
import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec("trl").origin).parent / "chat_templates")
`;

(trl.kind === 'found' ? test : test.skip).each(Object.entries(PUBLISHED))(
  'chats with tools, their calls and results have the ids that transformers makes of the exported messages, by the published template %s',
  async (name, mostCalls) => {
    const python = trl.kind === 'found' ? trl.python : '';
    const { stdout } = await promisify(execFile)(python, ['-c', TEMPLATES_OF_TRL]);
    await expectTheirIds(python, await readFile(join(stdout.trim(), `${name}.jinja`), 'utf8'), mostCalls);
  },
);
