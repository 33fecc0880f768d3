import { z } from 'zod';
import { openSha256 } from '../../../digest/sha256.ts';
import { completionRows } from '../../../domain/dataset/preference.ts';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import { createRandom } from '../../../domain/random/random.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import type { LossMessage } from '../../../domain/revision/splice.ts';
import { toXtuner } from '../../../domain/revision/xtuner.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ChatTokenizer } from '../export/chat-tokenizer.ts';
import { tokeniseChat } from '../export/token-body.ts';
import { badRow, readRows } from '../import/read-rows.ts';
import type { RowFormatKind } from './row-options.ts';

/** A file of general conversations to mix in, and how much agent data is to weigh. */
export interface GeneralOptions {
  readonly path: string;
  /**
   * The share of agent examples in the mixture, above 0 and at most 1: the paper's η = 0.2 weighs AGENT data, not the general
   * (§3.1).
   */
  readonly eta: number;
  readonly seed: number;
}

/** What a manifest says of the general data. */
export interface GeneralSource {
  readonly sha256: string;
  readonly conversations: number;
  readonly eta: number;
  readonly seed: number;
}

/** A stream of general examples that never ends: the file in a seeded order, then again in another. */
export interface GeneralData {
  readonly source: GeneralSource;
  /**
   * Returns the general examples that are due behind the agent's n-th (from 1), so that any beginning of the file has about the
   * share η.
   */
  behind(agentExamples: number): readonly (readonly LossMessage[])[];
}

const ETA_LEAST = 1e-4; // 9,999 general examples for one of the agent's; less is a mistake, and would fill the disk
const TEXT_LIMIT = 512 * 1024 * 1024; // characters of conversations held in memory

const shareGpt = z.object({ conversations: z.array(z.object({ from: z.string(), value: z.string() })) });
const chat = z.object({ messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })) });

/**
 * Reads general data: ShareGPT (`conversations`) or chats (`messages`), a JSON array or lines. Every reply is trained on. Replies
 * that answer nobody, as in ShareGPT files that were cut in the middle, are left out; messages that a user sent one after the
 * other are one, with an empty line between them: the reply answers all of them. @throws DatasetError `invalid-query`, `bad-row`.
 */
export async function openGeneralData({ path, eta, seed }: GeneralOptions, format: RowFormatKind): Promise<GeneralData> {
  if (!(eta > 0 && eta <= 1))
    throw new DatasetError('invalid-query', `eta is ${eta}; it is the share of agent data, above 0 and at most 1`);
  if (eta < ETA_LEAST)
    throw new DatasetError(
      'invalid-query',
      `eta is ${eta}: ${Math.round(1 / eta - 1).toLocaleString('en')} general examples for each of the agent's; give at least ${ETA_LEAST}`,
    );
  if (format === 'dpo' || format === 'agent-r')
    throw new DatasetError('invalid-query', `general data has no form in ${format}; take xtuner, sharegpt, openai or trl`);
  const hash = openSha256();
  const conversations: (readonly LossMessage[])[] = [];
  let size = 0;
  for await (const { line, value } of readRows(path, hash)) {
    const messages = messagesOf(value);
    if (messages === null) throw badRow(path, line, 'is neither a ShareGPT conversation nor a chat');
    if (messages.length === 0) continue;
    conversations.push(messages);
    for (const { content } of messages) size += content.length;
    if (size > TEXT_LIMIT)
      throw new DatasetError('cannot-read', `${path} has more than ${TEXT_LIMIT} characters; mix in a part of it`);
  }
  if (conversations.length === 0) throw new DatasetError('bad-row', `${path} holds no conversation with a reply`);
  const source = { sha256: hash.digest('hex'), conversations: conversations.length, eta, seed };
  const next = shuffledForEver(conversations, seed);
  let given = 0;
  return {
    source,
    behind(agentExamples) {
      const due = Math.round((agentExamples * (1 - eta)) / eta) - given;
      given += due;
      return Array.from({ length: due }, next);
    },
  };
}

/** Writes a general conversation in a format: one object per line. @param tokenizer that of a file of token ids. */
export function generalBodies(
  messages: readonly LossMessage[],
  format: RowFormatKind,
  tokenizer?: ChatTokenizer,
): readonly object[] {
  if (tokenizer) {
    const weighted = messages.map(({ role, content, loss }) => ({
      ...textMessage(role, content),
      ...(loss === undefined ? {} : { weight: loss ? (1 as const) : (0 as const) }),
    }));
    return tokeniseChat({ messages: weighted, tools: null }, tokenizer, 'a general conversation');
  }
  switch (format) {
    case 'xtuner':
      return [toXtuner(messages, 'keep')];
    case 'trl':
      return completionRows(messages);
    case 'openai':
      return [
        {
          messages: messages.map(({ role, content, loss }) => ({
            role,
            content,
            ...(loss === undefined ? {} : { weight: loss ? 1 : 0 }),
          })),
        },
      ];
    case 'sharegpt': {
      const from = { system: 'system', user: 'human', assistant: 'gpt' } as const;
      return [
        { conversations: messages.map(({ role, content, loss }) => ({ from: from[role], loss: loss ?? null, value: content })) },
      ];
    }
    default:
      throw new TypeError(`general data has no form in ${format}`); // openGeneralData refused it
  }
}

const ROLES: Readonly<Record<string, LossMessage['role']>> = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  system: 'system',
};

function messagesOf(value: unknown): readonly LossMessage[] | null {
  const asChat = chat.safeParse(value);
  const asShareGpt = shareGpt.safeParse(value);
  const turns = asChat.success
    ? asChat.data.messages
    : asShareGpt.success
      ? asShareGpt.data.conversations.map(({ from, value: content }) => ({ role: ROLES[from], content }))
      : null;
  if (turns === null) return null;
  const messages: LossMessage[] = [];
  for (const { role, content } of turns) {
    const before = messages.at(-1)?.role;
    if (role === undefined) return null;
    if (role === 'system' && messages.length === 0) messages.push({ role, content });
    else if (role === 'user' && before === 'user') messages.push({ role, content: `${messages.pop()?.content}\n\n${content}` });
    else if (role === 'user') messages.push({ role, content });
    else if (role === 'assistant' && before === 'user') messages.push({ role, content, loss: true });
  }
  const end = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return messages.slice(0, end);
}

function shuffledForEver<T>(items: readonly T[], seed: number): () => T {
  let round = 0;
  let waiting: T[] = [];
  return () => {
    if (waiting.length === 0)
      waiting = createRandom(seedFrom('general', seed, round++))
        .shuffle(items)
        .reverse();
    return waiting.pop() as T; // there is at least one item
  };
}
