import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { isStructured, messageText } from '../../../domain/prompts/same-message.ts';
import { callsOf, chatTools } from '../../../domain/prompts/served-message.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';
import { partMessages } from './message-forms.ts';

/** A model's tokenizer with its chat template. */
export interface ChatTokenizer {
  readonly folder: string;
  /** SHA-256 of its files: equal ones make equal ids. */
  readonly sha256: string;
  /** Ids are below it. */
  readonly size: number;
  /** Ids of a chat without pictures with the opening of the reply. @throws DatasetError `missing-tokens` that names the place. */
  prompt(chat: ChatWithTools, place: string): readonly number[];
  /**
   * Ids of the reply to a chat with the token that ends it. Calls of tools and reasoning are written by the template.
   * @throws DatasetError `missing-tokens` where the template does not write the reply behind the chat.
   */
  reply(chat: ChatWithTools, message: PolicyMessage, place: string): readonly number[];
  /** Whether ids are this tokenizer's for a reply: what they say is the text, or most of it. */
  reads(ids: readonly number[], message: PolicyMessage): boolean;
}

/** A chat, and the tools that the model was offered in it, as JSON; null for none. */
export interface ChatWithTools {
  readonly messages: readonly PolicyMessage[];
  readonly tools: string | null;
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
 * Finds a variable that a template marks as safe and joins to text with quotes in it: transformers escapes that text, and our
 * renderer does not.
 */
function joinedSafe(template: string): string | undefined {
  const marked = [...template.matchAll(/set\s+(\w+)\s*=[^%]*\|\s*safe\b/g)].map(([, name = '']) => name);
  const printed = [...template.matchAll(/\{\{([\s\S]*?)\}\}/g)].map(([, expression = '']) => expression);
  return marked.find((name) => {
    const joins = new RegExp(`[+~]\\s*${name}\\b|\\b${name}\\s*[+~]`);
    return printed.some(
      (expression) =>
        joins.test(expression) && (expression.match(/'[^']*'|"[^"]*"/g) ?? []).some((each) => /["'&<>]/.test(each.slice(1, -1))),
    );
  });
}

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
  const escaping = joinedSafe(source);
  if (escaping !== undefined)
    throw unreadable(
      folder,
      'the chat template',
      `it joins ${escaping}, which it marks as safe, to other text, where transformers writes &#34; for each quote: drop \`|safe\` from it`,
    );
  const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const end = parsed.eos_token ? encode(parsed.eos_token) : [];
  const size = 1 + [...tokenizer.get_vocab().values()].reduce((most, id) => Math.max(most, id), -1);
  return {
    folder,
    size,
    sha256: sha256Hex(JSON.stringify(texts)),
    prompt: (chat, place) => encode(render(chat, true, place)),
    reply(chat, message, place) {
      if (!isStructured(message)) return [...encode(messageText(message)), ...end];
      const before = render(chat, true, place);
      const whole = render({ ...chat, messages: [...chat.messages, message] }, false, place);
      const last = parsed.eos_token ? whole.lastIndexOf(parsed.eos_token) : -1;
      if (whole.startsWith(before) && last >= before.length) return [...encode(whole.slice(before.length, last)), ...end];
      throw new DatasetError(
        'missing-tokens',
        `${place}: the chat template of ${folder} does not write its reply behind its prompt, or without the token that ends it, so it cannot be tokenised; collect with a server that returns token ids, or export without --tokenizer`,
      );
    },
    reads: (ids, message) =>
      ids.every((id) => id < size) && isReplyOf(tokenizer.decode([...ids], { skip_special_tokens: true }), wordsOf(message)),
  };

  function render({ messages, tools }: ChatWithTools, opensReply: boolean, place: string): string {
    const chat = partMessages(messages, false);
    try {
      const { bos_token, eos_token } = parsed;
      const given = { messages: JSON.parse(JSON.stringify(chat)), add_generation_prompt: opensReply, bos_token, eos_token };
      return template.render(tools === null ? given : { ...given, tools: JSON.parse(chatTools(tools)) });
    } catch (error) {
      throw new DatasetError(
        'missing-tokens',
        `${place}: the chat template of ${folder} does not take its prompt: ${reasonOf(error)}; give the tokenizer of the model that was asked`,
        { cause: error },
      );
    }
  }
}

/** What tokens of a reply say at least: its text, else the name of the tool that it calls. */
function wordsOf(message: PolicyMessage): string {
  return messageText(message) || (callsOf(message)[0]?.name ?? '');
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
