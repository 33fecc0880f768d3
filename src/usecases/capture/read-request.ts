import { type CallMessage, callMessage } from '../../domain/capture/call-message.ts';
import type { Sampling } from '../../domain/prompts/policy-prompt.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { jsonText, lossesOfText, tryJsonText } from '../../events/json-text.ts';
import {
  below,
  blockMessages,
  chatMessage,
  isObject,
  isSet,
  type Json,
  type Lose,
  list,
  listOf,
  messagesOfItems,
  string,
  text,
} from '../../policies/openai/read-messages.ts';

export const APIS = ['chat.completions', 'responses', 'messages'] as const;
export type Api = (typeof APIS)[number];

/** What a request of a program asks a model for. */
export interface ReadRequest {
  readonly messages: readonly CallMessage[];
  /** The response that it continues on the server's side. */
  readonly previousResponseId: string | null;
  /** Whether its first message is of `instructions`, which its server carries over to no later response. */
  readonly hasInstructions: boolean;
  readonly model: string | null;
  /** Schemas of the tools as JSON; null where it has none. */
  readonly tools: string | null;
  readonly sampling: Sampling;
  /** What of it could not be read, and what a reader of JSON loses of it, by their paths. */
  readonly losses: readonly string[];
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
    previousResponseId: string(body.previous_response_id) || null,
    hasInstructions: api === 'responses' && instructionsIn(body).length > 0,
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
  };
}

const MOST_LOSSES = 20;

const READERS: Readonly<Record<Api, (body: Json, lose: Lose) => readonly (CallMessage | null)[]>> = {
  'chat.completions': ({ messages }, lose) =>
    listOf(messages, 'messages', lose).map((message, i) => chatMessage(message, below(lose, `messages.${i}`))),
  responses: responsesMessages,
  messages: anthropicMessages,
};

function responsesMessages({ input, conversation, prompt, ...body }: Json, lose: Lose): readonly CallMessage[] {
  if (isSet(conversation)) lose('conversation names messages that its server keeps, which are not recorded');
  if (isSet(prompt)) lose('prompt names a template that its server keeps, whose messages are not recorded');
  const system = instructionsIn(body);
  if (typeof input === 'string') return [...system, callMessage('user', [text(input)])];
  return [...system, ...messagesOfItems(listOf(input, 'input', lose), below(lose, 'input'))];
}

function instructionsIn({ instructions }: Json): readonly CallMessage[] {
  return typeof instructions === 'string' && instructions !== '' ? [callMessage('system', [text(instructions)])] : [];
}

/** Messages of Anthropic's protocol, whose contents are blocks. */
function anthropicMessages({ system, messages }: Json, lose: Lose): readonly CallMessage[] {
  const first = chatMessage({ role: 'system', content: system }, below(lose, 'system'));
  const all = listOf(messages, 'messages', lose).flatMap((message, i) => blockMessages(message, below(lose, `messages.${i}`)));
  return [...(first && first.parts.length > 0 ? [first] : []), ...all];
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
  const fields = typeof config === 'string' ? tryJsonText(config) : config;
  if (!isObject(fields)) return { ...asked, generation_config: config };
  const own = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  return { ...fields, ...own, ...('do_sample' in fields && fields.do_sample === false ? { temperature: 0 } : {}) };
}
