import { z } from 'zod';
import { sha256Hex } from '../../../../digest/sha256.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import type { Episode, EpisodeTurn, ParsedItem } from '../agent-traj-item.ts';

const part = z.union([z.string(), z.looseObject({ type: z.string().optional(), text: z.string().nullish() })]);
const call = z.looseObject({
  function: z.looseObject({ name: z.string(), arguments: z.unknown() }).optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
});
const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  weight: z.number().nullish(),
  tool_calls: z.array(call).nullish(),
});

export const chat = z.array(message);
export type Chat = z.infer<typeof chat>;

/** What is known of a chat besides its messages. */
export type ChatFacts = Partial<Omit<Episode, 'instruction' | 'acknowledgement' | 'firstObservation' | 'turns'>>;

const FIRST = ['system', 'developer'];

/** What chats call who speaks: people, the model, and tools (by the templates of OpenAI, Llama, GLM and OLMo). */
export const CHAT_ROLES: readonly string[] = [
  ...FIRST,
  'user',
  'assistant',
  'tool',
  'function',
  'ipython',
  'observation',
  'environment',
];

/** How a file names its messages, and the one with a place among those given: a refusal says it. */
export interface ChatNames {
  readonly all: string;
  at(place: number): string;
}
const MESSAGES = namesIn('messages');

/**
 * Reads a chat as a trajectory: what the system says is the instruction, what comes before the first reply the first observation,
 * each reply of the assistant a step, what people and tools say behind it its observation. A call of a tool is written into the
 * reply as chat templates do (`<tool_call>`). A reply with weight 0 is context. Refused are a chat without a reply and a role
 * that nobody knows: who imports would miss the one, and train on the other as on what a person said.
 */
export function chatEpisode(messages: Chat, facts: ChatFacts, names = MESSAGES): ParsedItem {
  const opening = messages.findIndex(({ role }) => role === 'assistant');
  const stranger = messages.findIndex(({ role }) => !CHAT_ROLES.includes(role));
  if (stranger >= 0) {
    const role = JSON.stringify(cutText(messages[stranger]?.role ?? '', 50));
    return {
      kind: 'refused',
      reason: `${names.at(stranger)}.role: ${role} is none of ${CHAT_ROLES.join(', ')}; write it as one of them, or leave the row out`,
    };
  }
  if (opening < 0)
    return {
      kind: 'refused',
      reason: `${names.all}: holds no reply of an assistant, and a trajectory is made of replies; add what was answered, or leave the row out`,
    };
  const shown = messages.findIndex(
    ({ content }) => typeof content !== 'string' && content?.some((each) => textIn(each) === null),
  );
  if (shown >= 0)
    return {
      kind: 'refused',
      reason: `${names.at(shown)}.content: holds a part that is no text; an import takes texts alone, so leave the row out, or export events (jsonl)`,
    };
  const before = messages.slice(0, opening);
  const said = (some: Chat) =>
    some
      .map(textOf)
      .filter((text) => text !== '')
      .join('\n\n');
  const instruction = said(before.filter(({ role }) => FIRST.includes(role)));
  const firstObservation = said(before.filter(({ role }) => !FIRST.includes(role)));
  if (firstObservation === '' && instruction === '')
    return { kind: 'refused', reason: `${names.all}: nothing precedes the first reply; a trajectory begins with what was asked` };
  const turns: (Omit<EpisodeTurn, 'observation'> & { observation: Chat })[] = [];
  for (const [i, each] of messages.slice(opening).entries()) {
    if (FIRST.includes(each.role))
      return {
        kind: 'refused',
        reason: `${names.at(opening + i)}: a ${each.role} message follows a reply; put it first, or make it a user message`,
      };
    if (each.role === 'assistant') turns.push({ response: textOf(each), observation: [], trained: each.weight !== 0 });
    else turns.at(-1)?.observation.push(each);
  }
  const key = sha256Hex(`${instruction}\n${firstObservation}`).slice(0, 16);
  return {
    kind: 'episode',
    episode: {
      environment: 'chat',
      alias: key,
      reward: null,
      success: null,
      ...facts,
      instruction,
      acknowledgement: null,
      firstObservation,
      turns: turns.map((turn) => ({ ...turn, observation: said(turn.observation) })),
    },
  };
}

function textOf({ content, tool_calls: calls }: Chat[number]): string {
  const called = (calls ?? []).map((each) =>
    callText(each.function?.name ?? each.name ?? '', each.function?.arguments ?? each.arguments),
  );
  const said = typeof content === 'string' ? content : (content ?? []).map((each) => textIn(each) ?? '').join('');
  return [said, ...called].filter((text) => text !== '').join('\n');
}

/** Null for a part that is a picture or another thing. */
function textIn(each: z.infer<typeof part>): string | null {
  return typeof each === 'string' ? each : (each.text ?? null);
}

/** Writes a call of a tool as the templates of Qwen and Hermes do. */
export function callText(name: string, given: unknown): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: argumentsOf(given) })}\n</tool_call>`;
}

function argumentsOf(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {};
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
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
