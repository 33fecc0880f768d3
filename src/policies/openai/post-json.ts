import { cutText } from '../../domain/text/cut-text.ts';
import { retry } from '../../runtime/retry.ts';
import { isPassingStatus, LONGEST_PAUSE_MS, retryAfterMs } from '../../runtime/retry-after.ts';
import { sendAddress } from '../../runtime/secret-address.ts';
import { PolicyError } from '../policy.ts';

export interface PostOptions {
  /** Secrets by name are resolved for each request, and hidden in what comes back. */
  readonly url: string;
  /** A key, or the name of one. */
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly maxResponseBytes: number;
}

interface JsonAnswer {
  readonly text: string;
  /** Times the request was sent, from 1. */
  readonly attempts: number;
  /** From the first sending to the whole answer, waits included. */
  readonly latencyMs: number;
}

/**
 * Posts a JSON body and returns the text of a 2xx answer. It tries again only after 408, 409, 425, 429, 5xx and broken or silent
 * connections, with capped jittered back-off and never sooner than `Retry-After`. An aborted signal rejects with its own reason.
 * @throws PolicyError: `context-overflow` or `refused` (any other 4xx), `unreachable` when the attempts are spent, `protocol` for
 * an oversized answer.
 */
export function postJson(body: string, options: PostOptions, signal: AbortSignal, world: World): Promise<JsonAnswer> {
  const start = world.now();
  let askedMs: number | null = null;
  const post = async (attempts: number): Promise<JsonAnswer> => {
    signal.throwIfAborted();
    const outcome = await postOnce(body, options, signal, world);
    if (outcome.kind === 'answer') return { text: outcome.text, attempts, latencyMs: world.now() - start };
    askedMs = outcome.pauseMs;
    throw unreachable(outcome, attempts, options);
  };
  return retry(post, {
    signal,
    sleep: (ms, aborted) => world.sleep(ms, aborted),
    pauseMs: (tries) => Math.max(askedMs ?? 0, backoffMs(tries, world.random())),
    again: ({ error, tries, pauseMs }) =>
      error instanceof PolicyError && error.code === 'unreachable' && tries < options.attempts && pauseMs <= LONGEST_PAUSE_MS,
  });
}

type Outcome =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'again'; readonly why: string; readonly pauseMs: number | null; readonly cause?: unknown };

async function postOnce(body: string, options: PostOptions, signal: AbortSignal, world: World): Promise<Outcome> {
  // An own controller, not AbortSignal.any: that keeps a reference on the caller's long-lived signal for every request (Node 20).
  const request = new AbortController();
  const target = sendAddress(new URL(options.url), options.apiKey);
  const abort = (): void => request.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => request.abort(new Error(`no answer within ${options.timeoutMs} ms`)), options.timeoutMs);
  try {
    const headers = { ...target.headers, 'content-type': 'application/json', accept: 'application/json' };
    const response = await world.fetch(target.url.href, { method: 'POST', headers, body, signal: request.signal });
    const text = target.hide(await readText(response, options.maxResponseBytes));
    if (response.ok) return { kind: 'answer', text };
    if (!isRetryableStatus(response.status)) throw refusalOf(response.status, text, options.url);
    const why = `status ${response.status}: ${serverMessage(text)}`;
    return { kind: 'again', why, pauseMs: retryAfterMs((name) => response.headers.get(name), world.date()) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PolicyError) throw error;
    return { kind: 'again', why: target.hide(describeFault(error)), pauseMs: null };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

async function readText(response: Response, limit: number): Promise<string> {
  if (!response.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream, so the rest is never received.
    if (size > limit)
      throw new PolicyError(
        'protocol',
        `the model server's answer is longer than ${limit} bytes; ask for fewer choices or tokens`,
      );
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function unreachable(outcome: Outcome & { kind: 'again' }, attempts: number, options: PostOptions): PolicyError {
  const pause =
    (outcome.pauseMs ?? 0) > LONGEST_PAUSE_MS ? `; it asks to wait ${Math.ceil((outcome.pauseMs ?? 0) / 1_000)} s` : '';
  return new PolicyError(
    'unreachable',
    `the model server at ${options.url} gave no answer in ${attempts} of ${options.attempts} attempts (${outcome.why}${pause}); see that it runs, then resume the run`,
    { retryable: true, cause: outcome.cause },
  );
}

function describeFault(error: unknown): string {
  // fetch says only "fetch failed" and hides the reason (ECONNREFUSED, ENOTFOUND, …) in its cause.
  const { message, cause } = fieldsOf(error);
  const { code, message: deeper } = fieldsOf(cause);
  const reason = code ?? deeper;
  return [message ?? error, reason].filter((part) => part !== undefined).join(': ');
}

function fieldsOf(error: unknown): { message?: unknown; cause?: unknown; code?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}

/** What a retried call may touch of the world; tests pass their own. */
export interface World {
  readonly fetch: typeof globalThis.fetch;
  /** Waits; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Draws from [0, 1) for the jitter. It never decides what is sampled, so it needs no seed. */
  random(): number;
  /** Milliseconds of a clock that never goes back, for durations. */
  now(): number;
  /** Milliseconds since 1970, for `Retry-After` dates. */
  date(): number;
}

/** The statuses after which the same request may succeed: those that pass, a conflict of locks, and any fault of the server. */
function isRetryableStatus(status: number): boolean {
  return isPassingStatus(status) || status === 409 || status >= 500;
}

const BASE_MS = 500;
// a server that restarts takes minutes: with six attempts the waits sum to about half a minute, then the collector decides
const CAP_MS = 30_000;

/**
 * Returns the wait before attempt `attempt + 1`: exponential from 0.5 s, capped at 30 s, and jittered over its upper half so that
 * many workers do not return at once.
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
  return full * (0.5 + random / 2);
}

/** Turns a final 4xx into the error it means, with the server's own words and the remedy where one is known. */
export function refusalOf(status: number, body: string, url: string): PolicyError {
  const message = serverMessage(body);
  if (isContextOverflow(status, body, message))
    return new PolicyError('context-overflow', `the prompt is too long for the model: ${message}`);
  return new PolicyError(
    'refused',
    `the model server refused the request with status ${status}: ${message}${remedyFor(status, url)}`,
    { status },
  );
}

/** Takes the message out of an error body in any of the known shapes; the raw text, cut, where it has none. */
export function serverMessage(body: string): string {
  const found = errorFields(body).message ?? (body.trim() || 'no message');
  return found.length > 1_000 ? `${cutText(found, 1_000)}…` : found;
}

/** OpenAI sends the code; vLLM and SGLang only words, and older vLLM complains that nothing is left for the reply. */
function isContextOverflow(status: number, body: string, message: string): boolean {
  if (status !== 400 && status !== 413 && status !== 422) return false;
  if (errorFields(body).code === 'context_length_exceeded') return true;
  return /maximum context length|model'?s context length|context window|max_model_len|max(?:imum)?[ _]model[ _]len(?:gth)?|max_tokens must be at least 1, got -/i.test(
    message,
  );
}

function errorFields(body: string): { message?: string; code?: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return {};
  }
  // {"error": {"message", "code"}} (OpenAI, newer vLLM), {"message", "code"} (older vLLM, SGLang), {"error": "…"}, {"detail": …}
  // (FastAPI)
  const outer = fields(value);
  const inner = 'error' in outer ? outer.error : value;
  if (typeof inner === 'string') return { message: inner };
  const { message, code } = fields(inner);
  const text = message ?? outer.detail;
  return {
    ...(text === undefined ? {} : { message: typeof text === 'string' ? text : JSON.stringify(text) }),
    ...(typeof code === 'string' ? { code } : {}),
  };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function remedyFor(status: number, url: string): string {
  if (status === 401 || status === 403) return '; check the API key';
  if (status === 404)
    return `; check the model's name, and that ${url} is the server's chat address (its base URL mostly ends in /v1)`;
  if (status === 400 || status === 422) return '; if the server knows no token ids, set tokenIds to "none"';
  return '';
}
