import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import type { AskedMessage } from '../../../domain/prompts/asked-prompt.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';

/** A model's tokenizer with its chat template. */
export interface ChatTokenizer {
  readonly folder: string;
  /** SHA-256 of its files: equal ones make equal ids. */
  readonly sha256: string;
  /** Ids are below it. */
  readonly size: number;
  /** Ids of a chat of texts with the opening of the reply. @throws DatasetError `missing-tokens` that names the place. */
  prompt(messages: readonly AskedMessage[], place: string): readonly number[];
  /** Ids of a reply with the token that ends it. */
  reply(text: string): readonly number[];
  /** Whether ids are this tokenizer's for a reply: what they say is the text, or most of it. */
  reads(ids: readonly number[], text: string): boolean;
}

const token = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]).nullish();
const config = z.looseObject({
  bos_token: token,
  eos_token: token,
  chat_template: z
    .union([
      z.string(),
      z
        .array(z.object({ name: z.string(), template: z.string() }))
        .transform((all) => all.find(({ name }) => name === 'default')?.template),
    ])
    .nullish(),
});

/**
 * Opens the tokenizer in a folder as transformers writes it (`tokenizer.json`, `tokenizer_config.json`, the chat template in it
 * or in `chat_template.jinja`). Its ids are those of transformers.
 * @throws DatasetError `cannot-read` that names the file.
 */
export async function openChatTokenizer(folder: string): Promise<ChatTokenizer> {
  const texts = {
    model: await textOf(folder, 'tokenizer.json'),
    config: await textOf(folder, 'tokenizer_config.json'),
    template: await textOf(folder, 'chat_template.jinja', 'may be missing'),
  };
  const parsed = parse(folder, 'tokenizer_config.json', () => config.parse(JSON.parse(texts.config)));
  const tokenizer = parse(folder, 'tokenizer.json', () => new Tokenizer(JSON.parse(texts.model), parsed));
  const source = texts.template || parsed.chat_template;
  if (!source) throw unreadable(folder, 'tokenizer_config.json', 'it has no chat_template, and chat_template.jinja is not there');
  const template = parse(folder, 'the chat template', () => new Template(source));
  const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const end = parsed.eos_token ? encode(parsed.eos_token) : [];
  const size = 1 + [...tokenizer.get_vocab().values()].reduce((most, id) => Math.max(most, id), -1);
  return {
    folder,
    size,
    sha256: sha256Hex(JSON.stringify(texts)),
    prompt(messages, place) {
      const chat = messages.map(({ role, parts }) => ({
        role,
        content: parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''),
      }));
      try {
        const { bos_token, eos_token } = parsed;
        return encode(template.render({ messages: chat, add_generation_prompt: true, bos_token, eos_token }));
      } catch (error) {
        throw new DatasetError(
          'missing-tokens',
          `${place}: the chat template of ${folder} does not take its prompt: ${reasonOf(error)}; give the tokenizer of the model that was asked`,
          { cause: error },
        );
      }
    },
    reply: (text) => [...encode(text), ...end],
    reads: (ids, text) =>
      ids.every((id) => id < size) && isReplyOf(tokenizer.decode([...ids], { skip_special_tokens: true }), text),
  };
}

/**
 * Compares what ids say with the reply on record, which a server strips of spaces, and of thoughts where it parses them. An index
 * of a choice, which a policy that is no language model records, says a sign or a word of it at most.
 */
function isReplyOf(decoded: string, reply: string): boolean {
  const [said, text] = [decoded, reply].map((each) => each.replaceAll(/\s+/g, '')) as [string, string]; // two of two
  if (said === text) return true;
  return text !== '' && (said.includes(text) || (text.includes(said) && 2 * said.length >= text.length));
}

async function textOf(folder: string, file: string, presence: 'needed' | 'may be missing' = 'needed'): Promise<string> {
  try {
    return await readFile(join(folder, file), 'utf8');
  } catch (error) {
    if (presence === 'may be missing') return '';
    throw unreadable(folder, file, reasonOf(error), error);
  }
}

function parse<T>(folder: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(folder, file, reasonOf(error), error);
  }
}

function unreadable(folder: string, file: string, reason: string, cause?: unknown): DatasetError {
  return new DatasetError(
    'cannot-read',
    `--tokenizer ${folder}: ${file} cannot be read as a tokenizer: ${reason}; name a folder of transformers with tokenizer.json, tokenizer_config.json and a chat template`,
    { cause },
  );
}
