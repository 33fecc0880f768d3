import { type CalledTool, type CallMessage, type CallPart, callMessage } from '../../domain/capture/call-message.ts';
import type { Sampling } from '../../domain/prompts/policy-prompt.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { jsonText, lossesOfText } from '../../events/json-text.ts';

export type Json = Readonly<Record<string, unknown>>;
export const APIS = ['chat.completions', 'responses', 'messages'] as const;
export type Api = (typeof APIS)[number];

/** What a request of a program asks a model for. */
export interface ReadRequest {
  readonly messages: readonly CallMessage[];
  /** The response that it continues on the server's side. */
  readonly previousResponseId: string | null;
  readonly model: string | null;
  /** Schemas of the tools as JSON; null where it has none. */
  readonly tools: string | null;
  readonly sampling: Sampling;
  readonly streams: boolean;
  /** What of it could not be read, and what a reader of JSON loses of it, by their paths. */
  readonly losses: readonly string[];
}

/** Takes what could not be read, in words that begin with its path. */
export type Lose = (what: string) => void;

/** Begins the path of what is lost. */
export function below(lose: Lose, path: string | number): Lose {
  return (what) => lose(`${path}.${what}`);
}

/** Reads a request in one of the protocols. What cannot be read is a loss and no refusal: the model server judges requests. */
export function readRequest(api: Api, body: Json): ReadRequest {
  // clients send what is in `extra_body` as fields; spans show it as it was given to the client
  const asked = withGenerationConfig(isObject(body.extra_body) ? { ...body, ...body.extra_body } : body);
  const losses = [...lossesOfText(body)];
  const lose: Lose = (what) => {
    if (losses.length < MOST_LOSSES) losses.push(what);
  };
  const given = READERS[api](body, lose);
  for (const name of ['temperature', 'top_p', 'min_p', 'repetition_penalty'])
    if (isSet(asked[name]) && number(asked[name]) === null) lose(`${name} is no number`);
  for (const [name, value] of [['top_k', asked.top_k] as const, ['seed', body.seed] as const])
    if (isSet(value) && !Number.isSafeInteger(value)) lose(`${name} is no whole number that a double holds`);
  return {
    losses,
    messages: given.filter((message) => message !== null),
    previousResponseId: string(body.previous_response_id),
    model: string(body.model),
    tools: list(body.tools).length === 0 ? null : jsonText(body.tools),
    sampling: {
      temperature: number(asked.temperature),
      topP: number(asked.top_p),
      topK: Number.isSafeInteger(asked.top_k) ? (asked.top_k as number) : null, // as just seen
      minP: number(asked.min_p),
      repetitionPenalty: number(asked.repetition_penalty),
      maxTokens: count(body.max_completion_tokens) ?? count(body.max_tokens) ?? count(body.max_output_tokens),
      stop: (typeof body.stop === 'string' ? [body.stop] : list(body.stop ?? body.stop_sequences))
        .filter((text) => typeof text === 'string')
        .slice(0, 100),
      seed: Number.isSafeInteger(body.seed) ? (body.seed as number) : null, // as just seen
      others: otherSampling(asked),
    },
    streams: body.stream === true,
  };
}

const MOST_LOSSES = 20;

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

const READERS: Readonly<Record<Api, (body: Json, lose: Lose) => readonly (CallMessage | null)[]>> = {
  'chat.completions': ({ messages }, lose) =>
    listOf(messages, 'messages', lose).map((message, i) => chatMessage(message, below(lose, `messages.${i}`))),
  responses: responsesMessages,
  messages: anthropicMessages,
};

/** Reads one message of chat completions, of a request or of a reply; null for what is none. */
export function chatMessage(given: unknown, lose: Lose): CallMessage | null {
  const role = isObject(given) ? roleOf(given.role) : null;
  if (!isObject(given) || role === null) {
    lose(isObject(given) ? `role is ${cutText(jsonText(given.role), 100)}` : 'is no object');
    return null;
  }
  const called = [
    ...listOf(given.tool_calls, 'tool_calls', lose),
    ...(isObject(given.function_call) ? [{ function: given.function_call }] : []),
  ];
  const said = partsOf(given.content, lose);
  return callMessage(role, said.length === 0 ? besidesContent(given, lose) : said, {
    reasoning: reasoningOf(given, lose),
    toolCalls: called.flatMap((call, i) => toolOf(call, below(lose, `tool_calls.${i}`))),
    toolCallId: string(given.tool_call_id),
    name: string(given.name) || null,
  });
}

/** What a message without content says: a refusal, or sound, of which the text is kept. */
function besidesContent({ refusal, audio }: Json, lose: Lose): readonly CallPart[] {
  if (typeof refusal === 'string' && refusal !== '') return [text(refusal)];
  if (!isObject(audio)) return [];
  const transcript = string(audio.transcript) ?? '';
  lose(transcript === '' ? 'audio is not kept, and has no transcript' : 'audio is kept as its transcript');
  return transcript === '' ? [] : [text(transcript)];
}

/** Reads items of the responses protocol, of a request or of a reply, as messages: what the model said at once is one. */
export function messagesOfItems(items: readonly unknown[], lose: Lose): readonly CallMessage[] {
  const messages: CallMessage[] = [];
  const add = (more: CallMessage) => {
    const last = messages.at(-1);
    if (last?.role !== 'assistant' || more.role !== 'assistant') return messages.push(more);
    messages.pop();
    const reasoning = [last.reasoning, more.reasoning].filter(Boolean).join('\n');
    const toolCalls = [...last.toolCalls, ...more.toolCalls];
    return messages.push({ ...last, parts: [...last.parts, ...more.parts], reasoning, toolCalls });
  };
  for (const [i, item] of items.entries()) {
    if (!isObject(item)) {
      lose(`${i} is no object`);
      continue;
    }
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call': {
        const called = { id: string(item.call_id), name: string(item.name) ?? '' };
        add(callMessage('assistant', [], { toolCalls: [{ ...called, arguments: argumentsOf(item.arguments ?? item.input) }] }));
        break;
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        add(callMessage('tool', partsOf(item.output, below(lose, i)), { toolCallId: string(item.call_id) }));
        break;
      case 'reasoning': {
        const reasoning = [...list(item.summary), ...list(item.content)].map(textIn).join('\n');
        if (reasoning !== '') add(callMessage('assistant', [], { reasoning }));
        break;
      }
      default: {
        const role = roleOf(item.role);
        if (role !== null) add(callMessage(role, partsOf(item.content, below(lose, i))));
        else lose(`${i} is an item of type ${cutText(jsonText(item.type), 100)}`);
      }
    }
  }
  return messages;
}

function responsesMessages({ instructions, input }: Json, lose: Lose): readonly CallMessage[] {
  const system = typeof instructions === 'string' && instructions !== '' ? [callMessage('system', [text(instructions)])] : [];
  if (typeof input === 'string') return [...system, callMessage('user', [text(input)])];
  return [...system, ...messagesOfItems(listOf(input, 'input', lose), below(lose, 'input'))];
}

/** Messages of Anthropic's protocol, whose contents are blocks. */
function anthropicMessages({ system, messages }: Json, lose: Lose): readonly CallMessage[] {
  const first = chatMessage({ role: 'system', content: system }, below(lose, 'system'));
  const all = listOf(messages, 'messages', lose).flatMap((message, i) => blockMessages(message, below(lose, `messages.${i}`)));
  return [...(first && first.parts.length > 0 ? [first] : []), ...all];
}

/** Reads a message that may be made of blocks, of a request or of a reply: each result of a tool in it is a message of its own. */
export function blockMessages(given: unknown, lose: Lose): readonly CallMessage[] {
  if (!isObject(given)) {
    lose('is no object');
    return [];
  }
  const blocks = list(given.content).filter(isObject);
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id, function: { name, arguments: input } }));
  const isOnlyResults = results.length > 0 && results.length === blocks.length;
  const rest = list(given.content).filter(
    (block) => !(isObject(block) && ['tool_result', 'tool_use'].includes(String(block.type))),
  );
  const own = {
    ...given,
    content: Array.isArray(given.content) ? rest.map(withPicture) : given.content,
    tool_calls: [...list(given.tool_calls), ...calls],
  };
  const answers = results.map(({ tool_use_id, content }) => ({
    ...{ role: 'tool', tool_call_id: tool_use_id },
    content: Array.isArray(content) ? content.map(withPicture) : content,
  }));
  return [...answers, ...(isOnlyResults ? [] : [own])]
    .map((message) => chatMessage(message, lose))
    .filter((message) => message !== null);
}

function withPicture(block: unknown): unknown {
  if (!isObject(block) || block.type !== 'image' || !isObject(block.source)) return block;
  const { type, media_type, data, url } = block.source;
  const shown = type === 'base64' && typeof data === 'string' ? `data:${media_type};base64,${data}` : string(url);
  return shown === null ? block : { type: 'image_url', image_url: { url: shown } };
}

function text(content: string): CallPart {
  return { kind: 'text', text: content };
}

function textIn(part: unknown): string {
  return isObject(part) ? (string(part.text) ?? '') : '';
}

function toolOf(call: unknown, lose: Lose): CalledTool[] {
  const { function: fn, custom, id } = isObject(call) ? call : {};
  const called = isObject(fn) ? fn : isObject(custom) ? custom : null;
  if (called === null || typeof called.name !== 'string') lose('names no tool');
  if (called === null) return [];
  return [{ id: string(id), name: string(called.name) ?? '', arguments: argumentsOf(called.arguments ?? called.input) }];
}

/** Arguments are JSON in a string; some servers send the value itself. */
export function argumentsOf(given: unknown): string {
  if (given === undefined || given === null) return '';
  return typeof given === 'string' ? given : jsonText(given);
}

/**
 * What a model thought before it answered, where its server takes that out of the text: in a field (vLLM, SGLang), in blocks of
 * Anthropic's (LiteLLM), in details (OpenRouter), or as parts of the content (Mistral). Servers say the same in several.
 */
function reasoningOf({ content, ...message }: Json, lose: Lose): string {
  const inContent = list(content).map(thinkingIn).join('');
  for (const field of THOUGHTS) {
    const thought = thoughtIn(message[field]);
    if (thought !== '') return thought;
  }
  const unread = THOUGHTS.find((field) => isFilled(message[field]));
  if (inContent === '' && unread) lose(`${unread} holds no text`);
  return inContent;
}

const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking_blocks', 'reasoning_details'];

/** The text of a part that is thinking (Mistral, Anthropic); empty for any other. */
export function thinkingIn(part: unknown): string {
  return isObject(part) && part.type === 'thinking' ? thoughtIn(part.thinking) : '';
}

/** The text of a thought: a string, an object with one, or a list of them; empty where there is none. */
export function thoughtIn(thought: unknown): string {
  if (typeof thought === 'string') return thought;
  if (Array.isArray(thought)) return thought.map(thoughtIn).join('');
  if (!isObject(thought)) return '';
  return thoughtIn(thought.text ?? thought.thinking ?? thought.summary ?? thought.content);
}

/** Whether a value says something. */
export function isFilled(value: unknown): boolean {
  return isSet(value) && value !== '' && jsonText(value) !== '[]' && jsonText(value) !== '{}';
}

function partsOf(content: unknown, lose: Lose): readonly CallPart[] {
  if (typeof content === 'string') return content === '' ? [] : [text(content)];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content) && !(isObject(content) && string(content.text) !== null))
    lose('content is neither a text nor a list of parts, and kept as JSON');
  return (Array.isArray(content) ? content : [content]).flatMap((part: unknown, i): CallPart[] => {
    if (typeof part === 'string') return [text(part)];
    if (!isObject(part)) {
      lose(`content.${i} is no part, and kept as JSON`);
      return [text(jsonText(part))];
    }
    if (part.type === 'thinking') {
      if (part.thinking !== '' && thinkingIn(part) === '') lose(`content.${i} is thinking without a text`);
      return []; // the reasoning of the message
    }
    const said = string(part.text) ?? string(part.refusal);
    if (said !== null) return [text(said)];
    const image = isObject(part.image_url) ? part.image_url.url : part.image_url;
    if (typeof image === 'string') return [{ kind: 'picture', url: image }];
    lose(`content.${i} is a part of type ${cutText(jsonText(part.type), 100)}, and kept as JSON`); // sound, files
    return [text(jsonText(part))];
  });
}

function roleOf(role: unknown): CallMessage['role'] | null {
  if (role === 'developer' || role === 'system') return 'system';
  if (role === 'function' || role === 'tool') return 'tool';
  return role === 'user' || role === 'assistant' ? role : null;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
/** The items of a list that may be missing; another value is a loss. */
function listOf(value: unknown, path: string, lose: Lose): readonly unknown[] {
  if (isSet(value) && !Array.isArray(value)) lose(`${path} is no list`);
  return list(value);
}
export function string(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
function count(value: unknown): number | null {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31 ? Number(value) : null;
}

/**
 * Fields of requests besides the recorded parameters that change what replies are drawn from, of OpenAI, vLLM, SGLang and
 * servers like them, with the values that change nothing. Nothing is changed by null either, by an empty text or by an empty list.
 */
const CHANGES: Readonly<Record<string, readonly unknown[]>> = {
  presence_penalty: [0],
  frequency_penalty: [0],
  logit_bias: [{}],
  response_format: [{ type: 'text' }],
  tool_choice: ['auto', 'none'],
  guided_json: [],
  guided_regex: [],
  guided_choice: [],
  guided_grammar: [],
  structured_outputs: [{}],
  json_schema: [],
  regex: [],
  ebnf: [],
  grammar: [],
  structural_tag: [],
  allowed_token_ids: [],
  bad_words: [],
  bad_words_ids: [],
  suppress_tokens: [],
  begin_suppress_tokens: [],
  sequence_bias: [{}],
  logits_processors: [],
  custom_logit_processor: [],
  min_tokens: [0],
  min_new_tokens: [0],
  min_length: [0],
  ignore_eos: [false],
  no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  epsilon_cutoff: [0],
  exponential_decay_length_penalty: [],
  eta_cutoff: [0],
  guidance_scale: [1],
  penalty_alpha: [0],
  typical_p: [1],
  top_a: [0],
  xtc_probability: [0],
  dry_multiplier: [0],
  mirostat: [0],
  use_beam_search: [false],
  num_beams: [0, 1],
  generation_config: [],
};

const MOST_CHARACTERS = 10_000;

/**
 * Lists the parameters of a request that change the distribution, by name, each as JSON. A `generation_config` among them is one
 * that could not be read: `withGenerationConfig` takes the fields out of others.
 */
function otherSampling(body: Json): { readonly name: string; readonly value: string }[] {
  const { format } = (body.text ?? {}) as { readonly format?: unknown }; // of the responses protocol; any JSON value but null has fields
  const given = Object.entries({ ...body, ...(format === undefined ? {} : { response_format: format }) });
  return given.flatMap(([name, value]) => {
    if (changesNothing(name, value, body)) return [];
    return [{ name, value: cutText(jsonText(value), MOST_CHARACTERS) }];
  });
}

function changesNothing(name: string, value: unknown, { n }: Json): boolean {
  if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return true;
  // of more replies than are returned the likeliest are chosen
  if (name === 'best_of') return typeof value === 'number' && value <= (typeof n === 'number' ? n : 1);
  const neutral = Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
  return neutral === undefined || neutral.some((each) => JSON.stringify(each) === JSON.stringify(value));
}

/**
 * Puts the fields of a `generation_config`, as `transformers serve` takes it, in its place: those of the request itself come
 * first. One that says not to sample is of temperature 0. What is no JSON object is left as it is.
 */
function withGenerationConfig({ generation_config: config, ...asked }: Json): Json {
  if (config === undefined) return asked;
  const fields = typeof config === 'string' ? parse(config) : config;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { ...asked, generation_config: config };
  const own = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  return { ...fields, ...own, ...('do_sample' in fields && fields.do_sample === false ? { temperature: 0 } : {}) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
