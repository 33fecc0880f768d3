import { retry } from '../../runtime/retry.ts';
import { LONGEST_PAUSE_MS, retryAfterMs } from '../../runtime/retry-after.ts';
import { sendAddress } from '../../runtime/secret-address.ts';
import { PolicyError } from '../policy.ts';
import { backoffMs, isRetryableStatus, type World } from './retry.ts';
import { refusalOf, serverMessage } from './server-error.ts';

export interface PostOptions {
  /** Secrets by name are resolved for each request, and hidden in what comes back. */
  readonly url: string;
  /** A key, or the name of one. */
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly maxResponseBytes: number;
}

export interface JsonAnswer {
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
