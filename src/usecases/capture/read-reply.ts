import type { CallMessage } from '../../domain/capture/call-message.ts';
import { jsonText, lossesOfText, tryJsonText } from '../../events/json-text.ts';
import { readCompletion } from '../../policies/openai/completion.ts';
import { serverMessage } from '../../policies/openai/post-json.ts';
import {
  argumentsOf,
  below,
  blockMessages,
  isFilled,
  isObject,
  isSilent,
  type Json,
  type Lose,
  list,
  messagesOfItems,
  SILENT,
  string,
  thoughtIn,
} from '../../policies/openai/read-messages.ts';
import type { Api } from './read-request.ts';

/** What a model returned for a call. */
export interface ReadReply {
  readonly choices: readonly ReadChoice[];
  /** Token ids of the prompt; null where the server returns none. */
  readonly promptTokenIds: readonly number[] | null;
  readonly usage: Usage | null;
  readonly responseId: string | null;
  readonly model: string | null;
  readonly fingerprint: string | null;
  /** What of it could not be read, and what a reader of JSON loses of its messages, by their paths. */
  readonly losses: readonly string[];
}
export interface ReadChoice {
  readonly message: CallMessage;
  /** The message as the server wrote it. */
  readonly raw: string;
  readonly tokens: { readonly ids: readonly number[]; readonly logProbs: readonly number[] | null } | null;
  /** Log-probabilities that belong to no token ids: JSON of the text of each token, as the server names it, with its own. */
  readonly namedTokens: string | null;
  readonly usage: Usage | null;
  readonly finishReason: string | null;
}
interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Reads a whole reply in one of the protocols. @throws PolicyError `protocol`, or Error, that says what is wrong with it. */
export function readReply(api: Api, body: unknown): ReadReply {
  const read = { 'chat.completions': chatReply, responses: responsesReply, messages: anthropicReply }[api](body);
  const shown = read.choices.flatMap(({ message }, i) => (message.parts.some(({ kind }) => kind === 'picture') ? i : []));
  return { ...read, losses: [...read.losses, ...shown.map((i) => `choices.${i} holds a picture, which no step holds`)] };
}

function chatReply(body: unknown): ReadReply {
  const losses: string[] = [];
  const { acts, messages, ...completion } = readCompletion(body, (what) => losses.push(what));
  return {
    ...completion,
    losses,
    choices: messages.map(({ message, given, logprobs }, i): ReadChoice => {
      for (const loss of lossesOfText(given)) losses.push(`choices.${i}.message.${loss}`);
      const { tokens = null, usage = null, finishReason = null } = acts[i] ?? {};
      const named = tokens?.logProbs ? [] : (logprobs?.content ?? []).map(({ token, logprob }) => [token, logprob]);
      const namedTokens = named.length === 0 ? null : JSON.stringify(named);
      return { message, raw: jsonText(given), tokens, namedTokens, usage, finishReason };
    }),
  };
}

function responsesReply(body: unknown): ReadReply {
  if (!isObject(body) || !Array.isArray(body.output))
    throw new Error("the model server's answer is no response: it has no output");
  const { output, status, incomplete_details: details } = body;
  const reason = isObject(details) ? string(details.reason) : null;
  const finishReason = status === 'incomplete' ? (reason === 'max_output_tokens' ? 'length' : reason) : 'stop';
  return replyOf(body, 'output', (lose) => messagesOfItems(output, lose), { raw: jsonText(output), finishReason });
}

function anthropicReply(body: unknown): ReadReply {
  if (!isObject(body) || !Array.isArray(body.content))
    throw new Error("the model server's answer is no message: it has no content");
  const raw = { role: 'assistant', content: body.content };
  const said = { raw: jsonText(raw), finishReason: string(body.stop_reason) };
  return replyOf(body, 'content', (lose) => blockMessages(raw, lose), said);
}

/** Makes the reply of a protocol that has one message. Where there are more, or none although there is something, that is lost. */
function replyOf(
  body: Json,
  field: 'output' | 'content',
  read: (lose: Lose) => readonly CallMessage[],
  said: Pick<ReadChoice, 'raw' | 'finishReason'>,
): ReadReply {
  const losses: string[] = [];
  const lose = below((what) => losses.push(what), field);
  const [message, ...more] = read(lose).filter(({ role }) => role === 'assistant');
  if (more.length > 0) lose(`holds ${more.length + 1} messages, of which the first is the reply`);
  if (message === undefined && list(body[field]).length > 0) lose('holds no message of the model');
  for (const loss of lossesOfText(list(body[field]))) lose(loss);
  const usage = usageOf(body.usage);
  return {
    promptTokenIds: null,
    usage,
    responseId: string(body.id),
    model: string(body.model),
    fingerprint: null,
    losses,
    choices: [{ message: message ?? SILENT, tokens: null, namedTokens: null, usage, ...said }],
  };
}

/**
 * Reads a reply that its program has, and says why it is no step: because its server reports an error in it, or nothing of it could
 * be read, which is a loss.
 */
export function tryReply(
  api: Api,
  body: unknown,
  lost: readonly string[] = [],
): { readonly reply: ReadReply; readonly fault: string | null } {
  try {
    const read = readReply(api, body);
    const reply = { ...read, losses: [...lost, ...read.losses] };
    const isEmpty = reply.choices.every(({ message }) => isSilent(message));
    const loss = reply.losses.find((each) => !/reasoning|thinking/.test(each)); // a thought alone is no reply that was lost
    return { reply, fault: isEmpty && loss !== undefined ? `nothing of the reply could be read: ${loss}` : null };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const isReported = isObject(body) && Boolean(body.error);
    return { reply: { ...NOTHING_READ, losses: isReported ? lost : [...lost, fault] }, fault };
  }
}

const NOTHING_READ: Omit<ReadReply, 'losses'> = {
  choices: [],
  promptTokenIds: null,
  usage: null,
  responseId: null,
  model: null,
  fingerprint: null,
};

/** Anthropic counts what it had cached apart. */
function usageOf(given: unknown): Usage | null {
  if (!isObject(given) || !Number.isInteger(given.input_tokens) || !Number.isInteger(given.output_tokens)) return null;
  const counts = [given.input_tokens, given.cache_creation_input_tokens, given.cache_read_input_tokens];
  const promptTokens = counts.reduce<number>((sum, count) => sum + (Number.isInteger(count) ? Number(count) : 0), 0);
  return { promptTokens, completionTokens: Number(given.output_tokens) };
}

/** Puts the parts of a streamed reply together. */
export interface Assembler {
  add(part: Json): void;
  /** The stream is over (`[DONE]`): what came is the reply, also where no finish reason did. */
  end(): void;
  /** The whole reply, as it would have come at once; null while nothing of it came. */
  whole(): unknown;
  /** Whether the server said that the reply is at its end. */
  isComplete(): boolean;
  /** Why what came is no whole reply: its server reported an error, or did not say that it is at its end; null where it is one. */
  fault(): string | null;
  /** What of the parts could not be read. */
  readonly losses: readonly string[];
}

export function assemble(api: Api): Assembler {
  const parts = { 'chat.completions': assembleChat, responses: assembleResponse, messages: assembleAnthropic }[api]();
  let reported: string | null = null;
  return {
    ...parts,
    add(part) {
      if (isError(part))
        reported ??= `the model server reported in its stream: ${serverMessage(jsonText(part.response ?? part))}`;
      parts.add(part);
    },
    fault: () => reported ?? (parts.isComplete() ? null : 'the stream ended before the reply did'),
  };
}

/** vLLM and SGLang report errors in the middle of a stream, with status 200. */
function isError({ error, object, type }: Json): boolean {
  return Boolean(error) || object === 'error' || type === 'error' || type === 'response.failed';
}

type Parts = Omit<Assembler, 'fault'>;

interface GrowingTool {
  id?: unknown;
  type?: unknown;
  readonly function: { name: string; arguments: string };
}

type Content = string | unknown[] | null;

interface Growing {
  index: number;
  message: { role: 'assistant'; content: Content; tool_calls?: GrowingTool[]; [field: string]: unknown };
  finish_reason: string | null;
  logprobs: { content: unknown[] } | null;
  token_ids?: unknown[];
}

function assembleChat(): Parts {
  let isOver = false;
  const top: Record<string, unknown> = {};
  const choices = new Map<number, Growing>();
  const losses: string[] = [];
  return {
    losses,
    add(part) {
      for (const field of ['id', 'model', 'system_fingerprint', 'usage', 'prompt_token_ids', 'metadata'])
        if (part[field] !== undefined && part[field] !== null) top[field] = part[field];
      for (const given of list(part.choices).filter(isObject)) {
        const index = typeof given.index === 'number' ? given.index : 0;
        const choice: Growing = choices.get(index) ?? {
          index,
          message: { role: 'assistant', content: null },
          finish_reason: null,
          logprobs: null,
        };
        choices.set(index, choice);
        if (isObject(given.delta))
          grow(choice.message, given.delta, (what) => losses.push(`a delta of choice ${index}: ${what}`));
        if (typeof given.finish_reason === 'string') choice.finish_reason = given.finish_reason;
        if (isObject(given.logprobs) && Array.isArray(given.logprobs.content)) {
          choice.logprobs ??= { content: [] };
          for (const each of given.logprobs.content) choice.logprobs.content.push(each);
        }
        if (Array.isArray(given.token_ids)) {
          choice.token_ids ??= [];
          for (const each of given.token_ids) choice.token_ids.push(each);
        }
      }
    },
    end() {
      isOver = true;
    },
    whole: () => (choices.size === 0 ? null : { ...top, choices: [...choices.values()] }),
    isComplete: () => choices.size > 0 && (isOver || [...choices.values()].every(({ finish_reason }) => finish_reason !== null)),
  };
}

/**
 * Adds a part of a message to it: texts are joined, calls of tools by their index. Where a server numbers all calls 0, one of
 * another id begins another call; a name that comes with each part is the name.
 */
function grow(message: Growing['message'], delta: Json, lose: Lose): void {
  if (typeof delta.refusal === 'string') message.refusal = `${message.refusal ?? ''}${delta.refusal}`;
  message.content = contentWith(message.content, delta.content);
  for (const field of ['reasoning_content', 'reasoning']) {
    const thought = thoughtIn(delta[field]);
    if (thought !== '') message[field] = `${message[field] ?? ''}${thought}`;
    else if (isFilled(delta[field])) lose(`${field} holds no text`);
  }
  for (const field of ['thinking_blocks', 'reasoning_details'])
    if (list(delta[field]).length > 0) message[field] = contentWith(list(message[field]) as unknown[], delta[field]); // as made here
  if (isObject(delta.audio)) {
    const before = isObject(message.audio) ? message.audio : {};
    const transcript = `${string(before.transcript) ?? ''}${string(delta.audio.transcript) ?? ''}`;
    message.audio = { ...before, ...delta.audio, transcript, data: undefined };
  }
  const calls: GrowingTool[] = message.tool_calls ?? [];
  if (delta.tool_calls && !Array.isArray(delta.tool_calls)) lose('tool_calls is no list');
  for (const call of list(delta.tool_calls)) {
    if (!isObject(call)) {
      lose('a call of a tool is no object');
      continue;
    }
    const at = placeOf(call, calls);
    const grown = calls[at] ?? { function: { name: '', arguments: '' } };
    calls[at] = grown;
    if (call.index !== undefined) INDICES.set(grown, call.index);
    if (call.id !== undefined && call.id !== null) grown.id = call.id;
    if (call.type !== undefined) grown.type = call.type;
    if (!isObject(call.function)) continue;
    const name = string(call.function.name) ?? '';
    if (name !== grown.function.name) grown.function.name += name;
    grown.function.arguments += argumentsOf(call.function.arguments);
  }
  if (calls.length > 0) message.tool_calls = calls;
}

/** Texts are joined; where any is a list of parts, so is the whole. A list of before grows: it was made here. */
function contentWith(before: Content, more: unknown): Content {
  if (more === undefined || more === null) return before;
  if (typeof more === 'string' && !Array.isArray(before)) return `${before ?? ''}${more}`;
  const parts = Array.isArray(before) ? before : before ? [before] : [];
  for (const part of Array.isArray(more) ? more : [more]) addPart(parts, part);
  return parts;
}

/** Adds a part behind others: to the last one where both are of one type, and nothing but a text or a thought. */
function addPart(parts: unknown[], part: unknown): void {
  const [last, field] = [parts.at(-1), saidIn(part)];
  if (field === null || !isObject(part)) return void parts.push(part);
  const goesOn = isObject(last) && last.type === part.type && saidIn(last) === field;
  const said = contentWith(goesOn ? (last[field] as Content) : null, part[field]); // as `saidIn` has seen
  parts.splice(goesOn ? -1 : parts.length, 1, { ...part, [field]: said });
}

/** The field that holds what a part says, where it has no other but its type. */
function saidIn(part: unknown): 'text' | 'thinking' | null {
  if (!isObject(part) || !('type' in part) || Object.keys(part).length !== 2) return null;
  const isSaid = (given: unknown) => typeof given === 'string' || Array.isArray(given);
  return isSaid(part.text) ? 'text' : isSaid(part.thinking) ? 'thinking' : null;
}

/** The index that a server gave a call that grows. */
const INDICES = new WeakMap<GrowingTool, unknown>();

/** Where a part of a call belongs: to the call of its id, else to the last one of its index; behind all where there is none. */
function placeOf({ index, id, function: called }: Json, calls: readonly GrowingTool[]): number {
  const named = typeof id === 'string' && id !== '';
  if (index === undefined && !named)
    return isObject(called) && string(called.name) ? calls.length : Math.max(0, calls.length - 1);
  const at = calls.findLastIndex((call) => (named && call.id === id) || (INDICES.get(call) === index && (!named || !call.id)));
  return at < 0 ? calls.length : at;
}

function assembleResponse(): Parts {
  let last: unknown = null;
  let isComplete = false;
  return {
    losses: [], // each part holds the whole response
    add(part) {
      if (!isObject(part.response)) return;
      last = part.response;
      isComplete = ['response.completed', 'response.incomplete', 'response.failed'].includes(String(part.type));
    },
    end: () => undefined, // it ends with an event of its own
    whole: () => last,
    isComplete: () => isComplete,
  };
}

/** Puts the events of a streamed reply together. */
function assembleAnthropic(): Parts {
  let message: Record<string, unknown> | null = null;
  let isComplete = false;
  const blocks: Record<string, unknown>[] = [];
  const losses: string[] = [];
  const inputs = new Map<number, string>(); // arguments of calls, in pieces of JSON
  const grow = (at: number, { type, text, thinking, signature, partial_json }: Json) => {
    const block = blocks[at];
    if (!block) return void losses.push(`a delta of block ${at}, which was not begun`);
    if (type === 'text_delta') block.text = `${block.text ?? ''}${text}`;
    if (type === 'thinking_delta') block.thinking = `${block.thinking ?? ''}${thinking}`;
    if (type === 'signature_delta') block.signature = signature;
    if (type !== 'input_json_delta') return;
    inputs.set(at, `${inputs.get(at) ?? ''}${partial_json}`);
    const input = tryJsonText(inputs.get(at) ?? '');
    block.input = input === undefined ? inputs.get(at) : input; // those that broke off stay a text
  };
  return {
    losses,
    add(part) {
      const at = Number(part.index);
      if (part.type === 'message_start' && isObject(part.message)) message = { ...part.message };
      if (part.type === 'content_block_start' && isObject(part.content_block)) blocks[at] = { ...part.content_block };
      if (part.type === 'content_block_delta' && isObject(part.delta)) grow(at, part.delta);
      if (part.type === 'message_delta' && message) {
        const usage = { ...(isObject(message.usage) ? message.usage : {}), ...(isObject(part.usage) ? part.usage : {}) };
        message = { ...message, ...(isObject(part.delta) ? part.delta : {}), usage };
      }
      isComplete ||= part.type === 'message_stop';
    },
    end: () => undefined, // it ends with an event of its own
    whole: () => message && { ...message, content: blocks.filter(isObject) },
    isComplete: () => isComplete,
  };
}
