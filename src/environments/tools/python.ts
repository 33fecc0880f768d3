import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import { parseJson } from '../../domain/text/parse-json.ts';
import { limitOf } from '../../runtime/limit.ts';
import { retry } from '../../runtime/retry.ts';
import { isPassingStatus, LONGEST_PAUSE_MS, retryAfterMs } from '../../runtime/retry-after.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { type Tool, ToolError, type ToolResult, ToolUnavailable } from './tool.ts';

export interface PythonOptions {
  /** The sandbox server, for example http://127.0.0.1:8080. */
  readonly url: string;
  /** What the program may take, in seconds. */
  readonly runTimeoutS?: number;
  /** What one request may take: the run and the way there. */
  readonly requestTimeoutMs?: number;
  readonly attempts?: number;
  readonly pauseMs?: number;
  /** Programs at a time. */
  readonly concurrency?: number;
  /** Ms since 1970, and the wait; a test's own. */
  readonly now?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

// The numbers of Agent-R1's branch legacy: 10 s to run, 5 attempts, 32 at a time.
const RUN_TIMEOUT_S = 10;
const REQUEST_SLACK_MS = 10_000;
const ATTEMPTS = 5;
const PAUSE_MS = 500;
const CONCURRENCY = 32;
const ANSWER_LIMIT = 16 * 1024 * 1024; // bytes

/** What a program shows that prints nothing. */
export const NO_OUTPUT = 'The program printed nothing. Print what you want to see.';

const stage = z.object({
  status: z.enum(['Finished', 'Error', 'TimeLimitExceeded']),
  return_code: z.number().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
});
const answerShape = z.object({
  status: z.enum(['Success', 'Failed', 'SandboxError']),
  message: z.string().nullish(),
  run_result: stage.nullish(),
});

/**
 * Runs Python programs in a sandbox server that speaks SandboxFusion's protocol (`POST /run_code`): here nothing is ever
 * executed. Standard output is the result, or what went to standard error when the program failed; for a program that took too
 * long the result says so. What may pass (no connection, HTTP 408, 425, 429 or 5xx, no answer in time, `SandboxError`) is tried
 * again, five times in all, and never before the pause that the server asks for (`Retry-After`) is over; then the tool is
 * unavailable. @throws ToolError for an address that is no http URL.
 */
export function python(options: PythonOptions): Tool {
  const url = runUrl(options.url);
  const { runTimeoutS = RUN_TIMEOUT_S, attempts = ATTEMPTS, pauseMs = PAUSE_MS, concurrency = CONCURRENCY } = options;
  const requestTimeoutMs = options.requestTimeoutMs ?? runTimeoutS * 1_000 + REQUEST_SLACK_MS;
  const { now = Date.now, sleep } = options;
  const inTurn = limitOf(concurrency);

  async function run(code: string, signal: AbortSignal): Promise<ToolResult> {
    signal.throwIfAborted(); // its turn may have come late
    const body = JSON.stringify({ code, language: 'python', run_timeout: runTimeoutS, compile_timeout: runTimeoutS });
    let restMs: number | null = 0; // null: asking again is of no use
    const ask = async (tries: number): Promise<ToolResult> => {
      const outcome = await send(url, body, { timeoutMs: requestTimeoutMs, now }, signal);
      if (outcome.kind === 'answered') return resultOf(outcome.answer, runTimeoutS);
      if (outcome.kind === 'refused') return { content: outcome.reason, success: false };
      restMs = outcome.kind === 'passing' ? (outcome.restMs ?? 0) : null;
      throw new ToolUnavailable(`${outcome.reason}${tries > 1 ? ` (tried ${tries} times)` : ''}`);
    };
    return retry(ask, {
      signal,
      sleep,
      pauseMs: (tries) => Math.max(restMs ?? 0, pauseMs * tries),
      again: ({ error, tries, pauseMs: pause }) =>
        error instanceof ToolUnavailable && restMs !== null && tries < attempts && pause <= LONGEST_PAUSE_MS,
    });
  }

  return {
    name: 'python',
    description: 'Runs a Python program and gives what it printed.',
    parameters: {
      type: 'object',
      properties: { code: { type: 'string', description: 'The program' } },
      required: ['code'],
    },
    fingerprint: `python 1 ${url.href} ${runTimeoutS}`,
    ownLimit: true,
    execute: (args, signal) => inTurn(() => run(String(args.code), signal)),
  };
}

function resultOf({ status, message, run_result: ran }: z.infer<typeof answerShape>, seconds: number) {
  if (ran?.status === 'TimeLimitExceeded')
    return { content: `${ran.stdout ?? ''}The program took longer than ${seconds} s.`, success: false };
  const failed = status !== 'Success';
  const said = [ran?.stdout ?? '', failed ? (ran?.stderr ?? '') : ''].filter((text) => text !== '').join('\n');
  return { content: said || (failed && message) || NO_OUTPUT, success: !failed };
}

type Sent =
  | { readonly kind: 'answered'; readonly answer: z.infer<typeof answerShape> }
  /** Said of the program itself: it is too long, say. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `restMs`: for how long the server asks to be left alone; null when it does not. */
  | { readonly kind: 'passing'; readonly reason: string; readonly restMs: number | null }
  | { readonly kind: 'final'; readonly reason: string };

const REFUSED_STATUS = new Set([400, 413, 422]);

async function send(
  url: URL,
  body: string,
  { timeoutMs, now }: { readonly timeoutMs: number; readonly now: () => number },
  signal: AbortSignal,
): Promise<Sent> {
  const limit = AbortSignal.timeout(timeoutMs);
  const { url: target, headers, hide } = sendAddress(url);
  if (target.pathname === '/') target.pathname = '/run_code';
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal: AbortSignal.any([signal, limit]),
    });
    const said = await readBounded(response);
    const text = said === null ? null : hide(said);
    if (text === null) return { kind: 'final', reason: `the sandbox answered more than ${ANSWER_LIMIT} bytes` };
    if (!response.ok) {
      const reason = `the sandbox answered HTTP ${response.status}: ${cutText(text, 500)}`;
      if (isPassingStatus(response.status))
        return { kind: 'passing', reason, restMs: retryAfterMs((name) => response.headers.get(name), now()) };
      return { kind: REFUSED_STATUS.has(response.status) ? 'refused' : 'final', reason };
    }
    const parsed = answerShape.safeParse(parseJson(text));
    if (!parsed.success) return { kind: 'final', reason: `the sandbox answered something else: ${cutText(text, 200)}` };
    if (parsed.data.status === 'SandboxError')
      return { kind: 'passing', reason: `the sandbox failed: ${parsed.data.message ?? 'no reason given'}`, restMs: null };
    return { kind: 'answered', answer: parsed.data };
  } catch (error) {
    signal.throwIfAborted();
    const reason = limit.aborted
      ? `the sandbox has not answered within ${timeoutMs} ms`
      : `cannot reach the sandbox: ${hide(causeOf(error))}`;
    return { kind: 'passing', reason, restMs: null };
  }
}

async function readBounded(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_LIMIT) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function runUrl(text: string): URL {
  if (!isHttpAddress(text))
    throw new ToolError(
      `python: ${JSON.stringify(text.slice(0, 200))} is no http URL; write for example sandbox=http://127.0.0.1:8080`,
    );
  const secret = secretInUrl(text);
  if (secret !== null) throw new ToolError(`python: the address of the sandbox holds ${secret}: ${SECRET_REMEDY}`);
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = '/run_code';
  sendAddress(url); // a secret that is missing is noticed now
  return url;
}

/** `fetch` says only "fetch failed" and carries the reason in its cause. */
function causeOf(error: unknown): string {
  const cause = (error as { cause?: { message?: string; code?: string } } | null)?.cause; // read by field: whatever was thrown
  return cause?.message || cause?.code || String((error as { message?: unknown } | null)?.message ?? error);
}
