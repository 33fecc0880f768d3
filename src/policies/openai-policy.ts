import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Hex } from '../digest/sha256.ts';
import { type ChatMessage, mergeSystem, promptMessages } from '../domain/history/prompt.ts';
import { approximateTokens, countTurns, dropTurns, type TurnRange, trimTurns } from '../domain/history/trim-turns.ts';
import type { PolicyMessage, Sampling } from '../domain/prompts/policy-prompt.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { parseJson } from '../domain/text/parse-json.ts';
import { withoutSlashes } from '../domain/text/without-slashes.ts';
import { wellFormed } from '../events/well-formed.ts';
import { sendAddress } from '../runtime/secret-address.ts';
import { parseCompletion } from './openai/completion.ts';
import { type LogProbKind, measureLogProbs, refuseLogProbs } from './openai/log-prob-kind.ts';
import { postJson, type World } from './openai/post-json.ts';
import {
  type Dialect,
  type Drawing,
  drawingFields,
  drawingOf,
  imagePart,
  type MultimodalMessage,
  type SamplingOptions,
  shownMessages,
} from './openai/request.ts';
import { type Act, type ActRequest, type Policy, PolicyError } from './policy.ts';
import { askedMessages } from './shown-prompt.ts';

export interface OpenAiOptions {
  /** The server's address up to and without `/chat/completions`, such as http://127.0.0.1:8000/v1. */
  readonly baseUrl: string;
  readonly model: string;
  /** A key, or the name of one: `secret:NAME`. */
  readonly apiKey?: string | undefined;
  /** How acts name their policy; the model's name by default. */
  readonly policyId?: string | undefined;
  /** The version of the weights that the server holds, which only the one who loaded them knows. */
  readonly policyVersion?: number | undefined;
  /** The whole distribution of the model when left out. */
  readonly sampling?: SamplingOptions | undefined;
  /** Longest reply, in tokens; a longer one is cut with the finish reason `length`. */
  readonly maxTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  /**
   * Asks for sampled token ids and log-probabilities in every known dialect, or sends nothing beyond OpenAI's own protocol unless
   * `sampling` names it. By default it asks, except OpenAI itself, which refuses fields that it does not know.
   */
  readonly tokenIds?: 'ask' | 'none' | undefined;
  /** `checked`: the caller refuses log-probabilities that are not of what is drawn, and no request is spent on measuring them. */
  readonly logProbs?: 'checked' | undefined;
  /** Writes requests as `transformers serve` takes them, which returns no token ids. */
  readonly dialect?: 'transformers' | undefined;
  /** Sends `admissible_actions` and `goal`, for a server that chooses among actions; others may refuse the fields. */
  readonly actions?: 'send' | 'none' | undefined;
  /** Sends the instruction inside the first user message, for models without a system role. */
  readonly systemRole?: 'system' | 'merged' | undefined;
  /** Trims the oldest turns from prompts longer than this, by `countTokens`. */
  readonly maxPromptTokens?: number | undefined;
  readonly countTokens?: ((message: ChatMessage) => number) | undefined;
  readonly timeoutMs?: number | undefined;
  /** Times one request is sent at most. */
  readonly attempts?: number | undefined;
  readonly maxResponseBytes?: number | undefined;
}

const thisWorld: World = {
  fetch: (...call) => globalThis.fetch(...call),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
  },
  random: Math.random,
  now: () => performance.now(),
  date: Date.now,
};

/**
 * A prompt is shortened at most so often on the server's word; each time a quarter of its turns goes, so 16 times leave one in a
 * hundred.
 */
const OVERFLOW_LIMIT = 16;

/**
 * Makes the policy that asks a model server by OpenAI's chat-completions protocol (OpenAI, vLLM, SGLang and others). One request
 * asks for all n acts; a server that returns fewer is asked for the rest, and one that refuses more than one choice is asked for
 * one at a time from then on. A prompt that the server calls too long loses its oldest turns and goes out as a new request; what
 * was left out is in `call.trimmed`.
 */
export function openAiPolicy(options: OpenAiOptions, world: World = thisWorld): Policy {
  const post = {
    url: chatAddress(options.baseUrl),
    apiKey: options.apiKey,
    timeoutMs: options.timeoutMs ?? 300_000,
    attempts: options.attempts ?? 6,
    maxResponseBytes: options.maxResponseBytes ?? 64 * 2 ** 20,
  };
  let choices: 'many' | 'one' = 'many'; // how many choices this server returns for one request
  let measuring: Promise<LogProbKind> | null = null; // before the first reply that trains
  async function checkLogProbs({ temperature }: ActRequest, signal: AbortSignal): Promise<void> {
    const baseUrl = withoutCredentials(options.baseUrl);
    const fault = (kind: LogProbKind) => refuseLogProbs({ kind, baseUrl, temperature, remedy: PROCESSED_REMEDY });
    if (!fault('unknown') || dialectOf(options) !== 'engine') return; // another dialect asks for none
    const found = fault(await measured(signal));
    if (found) throw found;
  }
  /** Measures once, for all who ask at once; what failed is measured again. */
  async function measured(signal: AbortSignal): Promise<LogProbKind> {
    const isOwn = measuring === null;
    measuring ??= measureLogProbs(async (body) => {
      const answer = await postJson(JSON.stringify(body), post, signal, world).catch((error: unknown) => {
        if (mayRefuseFields(error)) return { text: '{}' };
        throw error;
      });
      return parseJson(answer.text);
    }, options.model).catch((error: unknown) => {
      measuring = null;
      throw error;
    });
    try {
      return await measuring;
    } catch (error) {
      if (isOwn || signal.aborted || error instanceof PolicyError) throw error;
      return measured(signal); // another act was cancelled, which measured for all
    }
  }
  return {
    ref: { policyId: cutText(options.policyId ?? options.model, 200), version: options.policyVersion ?? 0 },
    async act(request, signal) {
      if (request.trains && options.logProbs !== 'checked') await checkLogProbs(request, signal);
      const acts: Act[] = [];
      const shown = request.shown ? await shownMessages(request.shown) : null;
      let prompt: Prompt = shown ? { messages: [], trimmed: null } : openingPrompt(request, options);
      for (let overflows = 0; acts.length < request.n; ) {
        const sampling = samplingOf(request, acts.length, options);
        const ask = (n: number) => requestBody(shown ?? prompt.messages.map(asSent), request, sampling, n, options);
        const missing = request.n - acts.length;
        let body = JSON.stringify(ask(choices === 'one' ? 1 : missing));
        try {
          const answer = await postJson(body, post, signal, world).catch((refusal: unknown) => {
            if (choices === 'one' || missing === 1 || !mayRefuseFields(refusal)) throw refusal;
            body = JSON.stringify(ask(1));
            // What was refused may have been another field: then the single request is refused as well, in the server's words.
            return postJson(body, post, signal, world).then((single) => {
              choices = 'one';
              return single;
            });
          });
          const completion = parseCompletion(answer.text);
          const call = {
            responseId: completion.responseId,
            model: completion.model,
            requestHash: sha256Hex(body),
            attempts: answer.attempts,
            latencyMs: answer.latencyMs,
            usage: completion.usage,
            trimmed: prompt.trimmed,
            ...(completion.fingerprint === null ? {} : { fingerprint: completion.fingerprint }),
          };
          const asked = {
            messages: request.shown ? askedMessages(request.shown.messages) : prompt.messages.map(asAsked),
            tools: null,
            sampling,
            server: withoutCredentials(post.url),
            model: cutText(options.model, 500),
            tokenIds: completion.promptTokenIds,
          };
          for (const each of completion.acts.slice(0, request.n - acts.length).map((act) => ({ ...act, asked, call })))
            acts.push(each);
        } catch (error) {
          if (!(error instanceof PolicyError) || error.code !== 'context-overflow' || ++overflows > OVERFLOW_LIMIT) throw error;
          if (shown) throw tooLongAsShown(error);
          prompt = shorterPrompt(prompt, error);
        }
      }
      return acts;
    },
    async close() {}, // fetch keeps its own pool of connections; nothing here is open
  };
}

const PROCESSED_REMEDY =
  'start vLLM with --logprobs-mode processed_logprobs, SGLang without SGLANG_RETURN_ORIGINAL_LOGPROB, or collect at temperature 1';

/** The status of a server that takes no such field or value: `n` above 1 is refused by llama.cpp, TGI and many proxies. */
function mayRefuseFields(error: unknown): boolean {
  return error instanceof PolicyError && error.code === 'refused' && (error.status === 400 || error.status === 422);
}

interface Prompt {
  readonly messages: readonly ChatMessage[];
  readonly trimmed: TurnRange | null;
}

function openingPrompt(request: ActRequest, options: OpenAiOptions): Prompt {
  // As the record will hold it: half surrogates of an earlier reply would be refused by strict servers, and the rebuilt prompt
  // would differ.
  const whole = (request.messages ?? promptMessages(request)).map((message) => ({
    ...message,
    content: wellFormed(message.content).value,
  }));
  const messages = options.systemRole === 'merged' ? mergeSystem(whole) : whole;
  if (options.maxPromptTokens === undefined) return { messages, trimmed: null };
  const result = trimTurns(messages, options.maxPromptTokens, options.countTokens ?? approximateTokens);
  if (result.kind === 'fits') return result;
  throw new PolicyError(
    'context-overflow',
    `the instruction and first observation (${result.headTokens} tokens) and the newest turn (${result.newestTurnTokens}) are longer than maxPromptTokens ${result.limit}; raise it, or use a model with a longer context`,
  );
}

function shorterPrompt(prompt: Prompt, overflow: PolicyError): Prompt {
  const turns = countTurns(prompt.messages);
  if (turns <= 1) {
    throw new PolicyError(
      'context-overflow',
      `the instruction, first observation and newest turn alone are too long for the model; lower maxTokens, or use a model with a longer context (${overflow.message})`,
      { cause: overflow },
    );
  }
  const shorter = dropTurns(prompt.messages, Math.ceil(turns / 4));
  return { messages: shorter.messages, trimmed: { from: 0, to: (prompt.trimmed?.to ?? 0) + (shorter.trimmed?.to ?? 0) } };
}

/** A prescribed prompt is sent whole or not at all: what the agent saw is on record. */
function tooLongAsShown(overflow: PolicyError): PolicyError {
  return new PolicyError(
    'context-overflow',
    `the prompt with its history is too long for the model; show fewer steps (--history, or --set prompt.historyLength of a training), or show them as an image (${overflow.message})`,
    { cause: overflow },
  );
}

function isOfficial({ baseUrl }: OpenAiOptions): boolean {
  return sendAddress(new URL(baseUrl)).url.hostname === 'api.openai.com';
}

function dialectOf(options: OpenAiOptions): Dialect {
  const { dialect, tokenIds } = options;
  if (dialect !== undefined) return dialect;
  return tokenIds === 'none' || (tokenIds !== 'ask' && isOfficial(options)) ? 'openai' : 'engine';
}

/** `transformers serve` continues to 20 tokens where neither a request nor the model's folder says more. */
const TRANSFORMERS_MAX_TOKENS = 1_024;

/** @param have how many acts earlier requests returned: with the same seed, the rest would be the same texts again. */
function samplingOf(request: ActRequest, have: number, options: OpenAiOptions): Sampling & Drawing {
  const dialect = dialectOf(options);
  return {
    ...drawingOf(request.temperature, options.sampling, dialect),
    maxTokens: options.maxTokens ?? (dialect === 'transformers' ? TRANSFORMERS_MAX_TOKENS : null),
    stop: options.stop ?? [],
    seed: modulo(modulo(request.seed, 2 ** 31) + have, 2 ** 31), // 31 bits, which every server takes
    others: [],
  };
}

function requestBody(
  messages: readonly MultimodalMessage[],
  request: ActRequest,
  sampling: Sampling & Drawing,
  n: number,
  options: OpenAiOptions,
): Readonly<Record<string, unknown>> {
  const { maxTokens, stop, seed } = sampling;
  const dialect = dialectOf(options);
  return {
    model: options.model,
    messages,
    ...drawingFields(sampling, dialect),
    // OpenAI's reasoning models refuse the old name; servers of others may not know the new one.
    ...(maxTokens === null ? {} : { [isOfficial(options) ? 'max_completion_tokens' : 'max_tokens']: maxTokens }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(options.actions === 'send' && request.admissibleActions
      ? { admissible_actions: request.admissibleActions, goal: request.goal }
      : {}),
    n,
    seed,
    ...(dialect === 'engine'
      ? { logprobs: true, return_token_ids: true, return_tokens_as_token_ids: true, return_meta_info: true }
      : {}),
  };
}

/** A text alone as it is, else parts: the text where there is one, and the pictures behind it. */
function asSent({ role, content, images = [] }: ChatMessage): MultimodalMessage {
  if (images.length === 0) return { role, content };
  const text = content === '' ? [] : [{ type: 'text', text: content }];
  return { role, content: [...text, ...images.map(({ png }) => imagePart(png))] };
}

function asAsked({ role, content, images = [] }: ChatMessage): PolicyMessage {
  const text = content === '' && images.length > 0 ? [] : [{ kind: 'text' as const, text: content }];
  return { role, parts: [...text, ...images.map(({ imageId }) => ({ kind: 'image' as const, imageId }))] };
}

function chatAddress(baseUrl: string): string {
  const [base = '', query] = baseUrl.split('?', 2);
  return `${withoutSlashes(base)}/chat/completions${query === undefined ? '' : `?${query}`}`;
}

function withoutCredentials(url: string): string {
  const { protocol, origin, pathname } = new URL(url);
  return cutText(`${protocol === 'secret:' ? protocol : origin}${pathname}`, 500);
}

function modulo(a: number, m: number): number {
  return ((a % m) + m) % m;
}
