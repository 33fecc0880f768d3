import { isAmount, whyNoAmount } from '../../domain/reward/amount.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ToolCall } from '../../domain/tools/parse-calls.ts';
import { isJsonObject } from '../../domain/tools/read-python-json.ts';
import { EnvironmentError } from '../environment.ts';
import { type Tool, type ToolArguments, type ToolResult, whyUnavailable } from './tool.ts';

/** What became of one call. `reward` is the tool's own, null where it returns none. */
export type CallOutcome =
  | {
      readonly kind: 'done';
      readonly output: string;
      readonly success: boolean;
      readonly reward: number | null;
      /** Why the reward that the tool gave was refused; null when it was not. */
      readonly refusal: string | null;
      readonly durationMs: number;
      /** As the tool gave them; read by `readCallPictures`. */
      readonly pictures?: unknown;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly durationMs: number }
  /** What the tool asks is away: no word on the call. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly durationMs: number };

export interface CallLimits {
  /** For one call, or for a batch of one tool. */
  readonly timeoutMs: number;
  /** Aborts when the environment closes, or nobody waits for the results any more: that alone is thrown. */
  readonly signal: AbortSignal;
  readonly clock: () => number;
}

/**
 * Executes the calls of one turn at the same time, those of a tool that takes batches together. A tool that throws, takes too
 * long or returns something else than a text is an outcome; nothing that a tool does is thrown here. @throws the signal's reason.
 * What a tool blocks without waiting (a loop in its own code) cannot be stopped.
 */
export async function runCalls(
  tools: ReadonlyMap<string, Tool>,
  calls: readonly ToolCall[],
  limits: CallLimits,
): Promise<CallOutcome[]> {
  const outcomes = new Map<ToolCall, CallOutcome>();
  const groups = [...new Set(calls.map(({ name }) => name))];
  const runs = groups.map(async (name) => {
    const group = calls.filter((call) => call.name === name);
    const tool = tools.get(name);
    if (tool === undefined) throw new RangeError(`there is no tool ${name}: calls are planned before they are run`);
    const together = group.length > 1 && tool.executeBatch ? [group] : group.map((call) => [call]);
    await Promise.all(
      together.map(async (batch) => {
        const done = await runBatch(tool, batch, limits);
        for (const [i, call] of batch.entries()) outcomes.set(call, done[i] ?? failed('it gave too few results', 0));
      }),
    );
  });
  await Promise.all(runs);
  return calls.map((call) => outcomes.get(call) ?? failed('it was not executed', 0));
}

async function runBatch(
  tool: Tool,
  calls: readonly ToolCall[],
  { timeoutMs, signal, clock }: CallLimits,
): Promise<CallOutcome[]> {
  const began = clock();
  const args = calls.map((call): ToolArguments => (isJsonObject(call.arguments) ? call.arguments : {}));
  const limit = tool.ownLimit ? null : AbortSignal.timeout(timeoutMs);
  const either = limit ? AbortSignal.any([limit, signal]) : signal;
  try {
    const results = await untilAborted(either, async () => {
      const [first] = args;
      if (tool.executeBatch && args.length > 1) return tool.executeBatch(args, either);
      return first === undefined ? [] : [await tool.execute(first, either)];
    });
    const durationMs = Math.max(0, clock() - began);
    return args.map((given, i) => outcomeOf(tool, given, Array.isArray(results) ? results[i] : undefined, durationMs));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EnvironmentError) throw error; // says nothing of the call, and ends the rollout
    const durationMs = Math.max(0, clock() - began);
    const away = whyUnavailable(error);
    if (away !== null) return calls.map(() => ({ kind: 'unavailable', reason: cutText(away, REASON), durationMs }));
    const reason = limit?.aborted ? `it took longer than ${timeoutMs} ms` : reasonOf(error);
    return calls.map(() => failed(reason, durationMs));
  }
}

/** Waits no longer than the signal allows, whether or not the work listens to it. */
async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error); // what a signal is aborted with is an error here
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    const working = work();
    working.catch(() => undefined); // when it is late nobody waits for it any more
    return await Promise.race([working, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function outcomeOf(tool: Tool, args: ToolArguments, result: ToolResult | undefined, durationMs: number): CallOutcome {
  const whole = typeof result === 'string' ? { content: result } : result;
  if (typeof whole !== 'object' || whole === null || typeof whole.content !== 'string')
    return failed(
      `it gave ${typeof result === 'object' ? 'an object without content' : typeof result} in place of a text`,
      durationMs,
    );
  const success = whole.success !== false;
  let reward: unknown = whole.reward ?? null;
  try {
    if (reward === null && tool.reward) reward = tool.reward(args, whole.content);
  } catch (error) {
    return {
      kind: 'done',
      output: whole.content,
      success,
      reward: 0,
      refusal: `its reward failed: ${reasonOf(error)}`,
      durationMs,
    };
  }
  if (reward !== null && !isAmount(reward)) {
    const refusal = `its reward ${cutText(String(reward), 80)} ${whyNoAmount(reward)}`;
    return { kind: 'done', output: whole.content, success, reward: 0, refusal, durationMs };
  }
  const pictures = whole.pictures === undefined ? {} : { pictures: whole.pictures };
  return { kind: 'done', output: whole.content, success, reward, refusal: null, durationMs, ...pictures };
}

function failed(reason: string, durationMs: number): CallOutcome {
  return { kind: 'failed', reason, durationMs };
}

const REASON = 2_000; // characters

function reasonOf(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message; // read by field: a tool may throw anything
  return cutText(String(typeof message === 'string' && message !== '' ? message : error), REASON);
}
