import { z } from 'zod';
import { sha256Hex } from '../../../../digest/sha256.ts';
import { type CallMessage, textOf } from '../../../../domain/capture/call-message.ts';
import { areFlattened, unflattened } from '../../../../domain/prompts/flattened-message.ts';
import type { PolicyMessage } from '../../../../domain/prompts/policy-prompt.ts';
import { isStructured, messageText } from '../../../../domain/prompts/same-message.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { CHAT_ROLES, chatMessage, SILENT } from '../../../../policies/openai/read-messages.ts';
import type { Episode, EpisodeTurn, ParsedItem } from '../agent-traj-item.ts';

const part = z.union([z.string(), z.looseObject({ type: z.string().optional(), text: z.string().nullish() })]);
const call = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.unknown() }).nullish(),
  name: z.string().nullish(),
  arguments: z.unknown().optional(),
});
/** A call of a tool, or the JSON of it, as columns of data sets hold it. */
const asJson = z.string().transform((text, context) => {
  try {
    return call.parse(JSON.parse(text));
  } catch {
    context.addIssue('is a text that is no call of a tool as JSON');
    return z.NEVER;
  }
});
const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  weight: z.number().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(z.union([call, asJson])).nullish(),
  function_call: call.nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
});
/** The fields of a message that are read. */
export const MESSAGE_FIELDS: readonly string[] = Object.keys(message.shape);

export const chat = z.array(message);
export type Chat = z.infer<typeof chat>;

/** What is known of a chat besides its messages. */
export type ChatFacts = Partial<Omit<Episode, 'instruction' | 'acknowledgement' | 'firstObservation' | 'turns'>> & {
  /** Schemas of the tools that the model was offered, as JSON. */
  readonly tools?: string | null;
  /** What comes before the chat where the file tells it apart: replies in it, such as examples, are no steps. */
  readonly opening?: { readonly instruction: string; readonly firstObservation: string; readonly messages: Chat };
};

const FIRST = ['system', 'developer'];

/** How a file names its messages, and the one with a place among those given: a refusal says it. */
export interface ChatNames {
  readonly all: string;
  at(place: number): string;
}
const MESSAGES = namesIn('messages');

/**
 * Reads a chat as a trajectory: what the system says is the instruction, what comes before the first reply the first observation,
 * each reply of the assistant a step, what follows it its observation. Where a chat has calls of tools, their results, reasoning or
 * names, or the system speaks behind a reply, each reply has the messages that it follows. A reply with weight 0 is context. Refused
 * are a chat without a reply and a role that nobody knows: who imports would miss the one, and train on the other as on what a
 * person said.
 */
export function chatEpisode(messages: Chat, { tools = null, opening, ...facts }: ChatFacts, names = MESSAGES): ParsedItem {
  const first = messages.findIndex(({ role }) => role === 'assistant');
  const stranger = messages.findIndex(({ role }) => !CHAT_ROLES.includes(role));
  if (stranger >= 0) {
    const role = JSON.stringify(cutText(messages[stranger]?.role ?? '', 50));
    return {
      kind: 'refused',
      reason: `${names.at(stranger)}.role: ${role} is none of ${CHAT_ROLES.join(', ')}; write it as one of them, or leave the row out`,
    };
  }
  if (first < 0)
    return {
      kind: 'refused',
      reason: `${names.all}: holds no reply of an assistant, and a trajectory is made of replies; add what was answered, or leave the row out`,
    };
  const shown = messages.findIndex((each) => {
    const lost: string[] = [];
    const isShown = chatMessage(each, (what) => lost.push(what))?.parts.some(({ kind }) => kind === 'picture');
    return isShown || lost.some((what) => what.startsWith('content'));
  });
  if (shown >= 0)
    return {
      kind: 'refused',
      reason: `${names.at(shown)}.content: holds a part that is no text; an import takes texts alone, so leave the row out, or export events (jsonl)`,
    };
  const led = opening?.messages ?? [];
  const asked = policyMessages([...led, ...messages]);
  const read = asked.slice(led.length);
  const before = read.slice(0, first);
  const instruction = opening?.instruction ?? joinedTexts(before.filter(({ role }) => role === 'system'));
  const firstObservation = opening?.firstObservation ?? joinedTexts(before.filter(({ role }) => role !== 'system'));
  const isWhole = isStructuredChat(messages) || tools !== null || opening !== undefined;
  const turns: (Omit<EpisodeTurn, 'observation'> & { observation: PolicyMessage[] })[] = [];
  for (const [i, reply] of read.entries()) {
    if (reply.role === 'assistant')
      turns.push({
        response: messageText(reply),
        observation: [],
        trained: messages[i]?.weight !== 0,
        ...(isWhole ? { shown: { messages: asked.slice(0, led.length + i), reply, tools } } : {}),
      });
    else turns.at(-1)?.observation.push(reply);
  }
  // where the model speaks first, what it said and was told then is what its task is known by
  const opens = firstObservation === '' && instruction === '' ? joinedTexts(read.slice(0, first + 2)) : null;
  return {
    kind: 'episode',
    episode: {
      environment: 'chat',
      alias: sha256Hex(opens ?? `${instruction}\n${firstObservation}`).slice(0, 16),
      reward: null,
      success: null,
      ...facts,
      instruction,
      acknowledgement: null,
      firstObservation,
      turns: turns.map((turn) => ({ ...turn, observation: joinedTexts(turn.observation) })),
    },
  };
}

/** Joins the texts of messages, an empty line between them. */
export function joinedTexts(messages: readonly PolicyMessage[]): string {
  return messages
    .map(messageText)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** Returns the messages of a chat as prompts hold them; calls of tools that an earlier capture wrote in texts are calls again. */
export function policyMessages(messages: Chat): readonly PolicyMessage[] {
  const asked = messages.map(askedMessage);
  return areFlattened(asked) ? asked.map(unflattened) : asked;
}

/** Whether a chat is more than a system text and texts in turn: then it is recorded as prompts too. */
export function isStructuredChat(messages: Chat): boolean {
  const first = messages.findIndex(({ role }) => role === 'assistant');
  const isBehindReply = ({ role }: Chat[number], at: number) => FIRST.includes(role) && first >= 0 && at > first;
  return messages.some((each, at) => isBehindReply(each, at) || isStructured(askedMessage(each)));
}

function askedMessage(given: Chat[number]): PolicyMessage {
  const message = readMessage(given);
  const { role, reasoning, toolCalls, toolCallId, name } = message;
  const said = textOf(message);
  return {
    role,
    parts: [
      ...(reasoning ? [{ kind: 'reasoning' as const, text: reasoning }] : []),
      ...(said === '' && role === 'assistant' ? [] : [{ kind: 'text' as const, text: said }]),
      ...toolCalls.map((call) => ({ kind: 'tool-call' as const, ...call })),
    ],
    ...(toolCallId === null ? {} : { toolCallId }),
    ...(name === null ? {} : { name }),
  };
}

/** Reads a message; one of a role that nobody knows, for which its chat is refused, as one that says nothing. */
function readMessage(given: Chat[number]): CallMessage {
  return chatMessage(given, () => undefined) ?? SILENT;
}

/** Writes a message that was read as one of a chat; its pictures are parts without a text. */
export function chatMessageOf(message: CallMessage): Chat[number] {
  const { role, parts, reasoning, toolCalls, toolCallId, name } = message;
  const isShown = parts.some(({ kind }) => kind === 'picture');
  return {
    role,
    content: isShown ? parts.map((part) => (part.kind === 'text' ? part.text : { type: 'image_url' })) : textOf(message),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: [...toolCalls] }),
    ...(toolCallId === null ? {} : { tool_call_id: toolCallId }),
    ...(name === null ? {} : { name }),
  };
}

/** Names messages by a field that holds them all. */
export function namesIn(all: string): ChatNames {
  return { all, at: (place) => `${all}.${place}` };
}

/** Makes the refusal of a row that does not have its shape. */
export function refusedShape(error: z.ZodError): ParsedItem {
  const [issue] = error.issues;
  return { kind: 'refused', reason: `${issue?.path.map(String).join('.') || 'the row'}: ${issue?.message}` };
}
