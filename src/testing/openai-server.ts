import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * A stand-in for a model server: it speaks the chat-completions protocol over HTTP on loopback, as OpenAI, vLLM and SGLang do,
 * with texts from a reply function in the place of a model. It checks requests as the real ones do, counts tokens, cuts at
 * `max_tokens` and `stop`, refuses prompts beyond its context, and fails on demand.
 */
export interface OpenAiServer {
  /** The base URL to give a client, ending in /v1. */
  readonly url: string;
  /** Every request that came in, failed ones too, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next requests fail in these ways, one each; the requests after them are answered. */
  fail(...failures: readonly Failure[]): void;
  close(): Promise<void>;
}

export interface RecordedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ChatRequest | null;
  /** The body as it came, for what the schema does not name. */
  readonly text: string;
}

export type Failure =
  | { readonly kind: 'none' }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Closes the connection: before any answer, or within the body. */
  | { readonly kind: 'reset'; readonly when: 'before-headers' | 'within-body' }
  /** Never answers; ends when the client goes away. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'body'; readonly body: string }
  /** Answers with fewer choices than `n` asks for. */
  | { readonly kind: 'fewer'; readonly choices: number };

export interface ServerOptions {
  /** Writes the reply to a request; `choice` counts from 0. Equal arguments should give equal texts. */
  readonly reply: (request: ChatRequest, choice: number) => string;
  readonly model?: string;
  readonly apiKey?: string;
  /** Awaited before each answer: holds them back. */
  readonly opened?: () => Promise<void>;
  /**
   * How the server returns token ids when asked: not at all (OpenAI), as vLLM from 0.10.2, as older vLLM, or as SGLang's meta
   * info.
   */
  readonly tokenIds?: 'none' | 'token_ids' | 'token-text' | 'meta_info';
  /** States the entropy of each token, as our own server does. */
  readonly entropies?: 'stated';
  /**
   * Writes the prompt as tokens, template and all, for `prompt_token_ids` (mode `token_ids`): by default each message is its
   * role, its words and an end, and the role of the reply comes last, so that a prompt begins with the one before and its
   * reply.
   */
  readonly promptIds?: (messages: ChatRequest['messages']) => readonly number[];
  /** Prompt and reply together may not be longer, in this server's tokens. */
  readonly contextTokens?: number;
}

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string().startsWith('data:image/png;base64,') }),
  }),
]);
/** Text, or parts with pictures; a reply function sees the texts alone. */
const content = z.union([
  z.string(),
  z
    .array(part)
    .min(1)
    .transform((parts) => parts.map((one) => (one.type === 'text' ? one.text : '')).join('')),
]);

const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content })).min(1),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  max_tokens: z.int().min(1).optional(),
  n: z.int().min(1).max(128).optional(),
  stop: z.array(z.string()).optional(),
  seed: z.int().optional(),
  logprobs: z.boolean().optional(),
  return_token_ids: z.boolean().optional(),
  return_tokens_as_token_ids: z.boolean().optional(),
  return_meta_info: z.boolean().optional(),
});
export type ChatRequest = z.infer<typeof chatRequest>;

/** Starts the server on a free port of 127.0.0.1. */
export async function startOpenAiServer(options: ServerOptions): Promise<OpenAiServer> {
  const requests: RecordedRequest[] = [];
  const failures: Failure[] = [];
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer); // an undecoded request stream yields buffers
    const text = Buffer.concat(chunks).toString('utf8');
    const parsed = chatRequest.safeParse(parseJson(text));
    requests.push({ headers: incoming.headers, body: parsed.success ? parsed.data : null, text });

    await options.opened?.();
    const failure = failures.shift() ?? { kind: 'none' };
    if (failure.kind === 'silent') return;
    if (failure.kind === 'reset') {
      if (failure.when === 'within-body') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"id":', () => incoming.socket.destroy());
      } else incoming.socket.destroy();
      return;
    }
    if (failure.kind === 'status')
      return send(response, failure.status, failure.body ?? errorBody(failure.status, 'scripted failure'), failure.headers);
    if (failure.kind === 'body') return send(response, 200, failure.body);

    if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions')
      return send(response, 404, errorBody(404, 'Not Found'));
    if (options.apiKey !== undefined && incoming.headers.authorization !== `Bearer ${options.apiKey}`) {
      return send(response, 401, errorBody(401, 'Incorrect API key provided.'));
    }
    if (!parsed.success) return send(response, 400, errorBody(400, z.prettifyError(parsed.error)));
    const refusal = refusalOf(parsed.data, options);
    if (refusal) return send(response, refusal.status, errorBody(refusal.status, refusal.message, refusal.code));
    send(
      response,
      200,
      JSON.stringify(completion(parsed.data, options, requests.length, failure.kind === 'fewer' ? failure.choices : undefined)),
    );
  }

  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    fail: (...more) => void failures.push(...more),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

/** Splits a text into this server's tokens: a word with the blanks before it. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** Returns the id of a token: a number fixed by its text. */
export function tokenId(token: string): number {
  let hash = 7;
  for (const character of token) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 50_257;
  return hash;
}

/** Returns the log-probability that the server states for the token at a position. */
export function tokenLogProb(position: number): number {
  return -(position + 1) / 8;
}

/** Returns the entropy that the server states for the token at a position. */
export function tokenEntropy(position: number): number {
  return (position + 1) / 4;
}

function refusalOf(request: ChatRequest, options: ServerOptions): { status: number; message: string; code?: string } | undefined {
  if (options.model !== undefined && request.model !== options.model) {
    return { status: 404, message: `The model \`${request.model}\` does not exist.`, code: 'model_not_found' };
  }
  const talk = request.messages[0]?.role === 'system' ? request.messages.slice(1) : request.messages;
  if (talk.some((message, i) => message.role !== (i % 2 === 0 ? 'user' : 'assistant'))) {
    return { status: 400, message: 'Conversation roles must alternate user/assistant/user/assistant/...' };
  }
  const prompt = promptTokens(request);
  const asked = prompt + (request.max_tokens ?? 1);
  if (options.contextTokens !== undefined && asked > options.contextTokens) {
    return {
      status: 400,
      message: `This model's maximum context length is ${options.contextTokens} tokens. However, you requested ${asked} tokens (${prompt} in the messages, ${asked - prompt} in the completion). Please reduce the length of the messages or completion.`,
      code: 'context_length_exceeded',
    };
  }
  return undefined;
}

function completion(request: ChatRequest, options: ServerOptions, ordinal: number, limit: number | undefined): unknown {
  const mode = options.tokenIds ?? 'none';
  const count = Math.min(request.n ?? 1, limit ?? Number.POSITIVE_INFINITY);
  let completionTokens = 0;
  const choices = Array.from({ length: count }, (_, index) => {
    let text = options.reply(request, index);
    const stop = Math.min(...(request.stop ?? []).map((mark) => text.indexOf(mark)).filter((at) => at >= 0));
    if (Number.isFinite(stop)) text = text.slice(0, stop);
    const whole = tokensOf(text);
    const tokens = whole.slice(0, request.max_tokens ?? whole.length);
    completionTokens += tokens.length;
    const asIds = (mode === 'token-text' || mode === 'token_ids') && request.return_tokens_as_token_ids;
    const content = tokens.map((token, i) => ({
      token: asIds ? `token_id:${tokenId(token)}` : token,
      ...(mode === 'token_ids' ? { bytes: [...Buffer.from(token, 'utf8')] } : {}), // older vLLM has those of the id
      logprob: tokenLogProb(i),
      top_logprobs: [],
      ...(options.entropies === 'stated' ? { entropy: tokenEntropy(i) } : {}),
    }));
    return {
      index,
      message: { role: 'assistant', content: tokens.join('') },
      finish_reason: tokens.length < whole.length ? 'length' : 'stop',
      logprobs: request.logprobs ? { content } : null,
      ...(mode === 'token_ids' && request.return_token_ids ? { token_ids: tokens.map(tokenId) } : {}),
      ...(mode === 'meta_info' && request.return_meta_info
        ? { meta_info: { output_token_logprobs: tokens.map((token, i) => [tokenLogProb(i), tokenId(token), token]) } }
        : {}),
    };
  });
  const prompt = promptTokens(request);
  return {
    id: `chatcmpl-${ordinal}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model: options.model ?? request.model,
    choices,
    ...(mode === 'token_ids' && request.return_token_ids
      ? { prompt_token_ids: (options.promptIds ?? templatedIds)(request.messages) }
      : {}),
    usage: { prompt_tokens: prompt, completion_tokens: completionTokens, total_tokens: prompt + completionTokens },
  };
}

function promptTokens(request: ChatRequest): number {
  return request.messages.reduce((sum, message) => sum + tokensOf(message.content).length, 0);
}

const ROLES = { system: 50_300, user: 50_301, assistant: 50_302 } as const;
const END = 50_303;

/** Returns the ids of a chat as the stand-in's template writes it. */
export function templatedIds(messages: ChatRequest['messages']): number[] {
  const ids = messages.flatMap(({ role, content: words }) => [ROLES[role], ...tokensOf(words).map(tokenId), END]);
  return [...ids, ROLES.assistant];
}

function errorBody(status: number, message: string, code: string | null = null): string {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return JSON.stringify({ error: { message, type, param: null, code } });
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
