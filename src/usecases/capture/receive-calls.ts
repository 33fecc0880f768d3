import { derivedId } from '../../events/derived-id.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import { isObject, type Json, list } from '../../policies/openai/read-messages.ts';
import type { Principal } from '../../postgres/principal.ts';
import { createExclusive, type Exclusive } from '../../runtime/exclusive.ts';
import { limitOf } from '../../runtime/limit.ts';
import { CaptureRefused, NotRecorded } from './capture-errors.ts';
import type { CapturedRollout } from './captured-rollout.ts';
import type { CloseOptions } from './close-captured.ts';
import type { Capture, CaptureEnd, CaptureReward } from './open-capture.ts';
import type { NamedPlace } from './place.ts';
import { assemble, type ReadReply, tryReply } from './read-reply.ts';
import { type Api, readRequest } from './read-request.ts';

/** A call that a client in the program's own process saw, from its beginning to its end. */
export interface SeenCall {
  readonly kind: 'call';
  readonly id: string;
  readonly api: Api | 'embeddings';
  /** ms since 1970. */
  readonly beganMs: number;
  readonly firstMs: number | null;
  readonly totalMs: number;
  /** Whether another call of the rollout was in flight when this one began. */
  readonly overlaps: boolean;
  readonly policy: PolicyRef | null;
  readonly server: string | null;
  readonly requestHash: string;
  readonly attempts: number;
  readonly request: Json;
  readonly outcome: 'answered' | 'failed' | 'cancelled';
  readonly status: number | null;
  readonly message: string;
  /** The body of the answer; null where there is none, and of a stream. */
  readonly reply: unknown;
  /** The parts of a stream; null of an answer that came whole. */
  readonly parts: readonly Json[] | null;
  /** Whether a stream ended with `[DONE]`. */
  readonly isDone: boolean;
}

/** What a program recorded itself, in the order in which it did. */
export type SeenLine =
  | ({ readonly id: string; readonly named: NamedPlace } & (
      | SeenCall
      | ({ readonly kind: 'reward' } & CaptureReward)
      | ({ readonly kind: 'end' } & CaptureEnd)
    ))
  | ({
      readonly id: string;
      readonly kind: 'close';
      readonly named: Pick<NamedPlace, 'run'> & { readonly task: string | null };
    } & CloseOptions);

export interface RefusedLine {
  readonly id: string;
  readonly message: string;
  readonly remedy: string;
}

const TOO_MUCH = 'ask for fewer or shorter replies';
const AT_ONCE = 8; // rollouts of one request

/**
 * Records what programs saw of their own calls: those of a rollout in the order given, a close behind all that come before it. A line that
 * is received again changes nothing. @throws NotRecorded.
 */
export type ReceiveCalls = (lines: readonly SeenLine[], principal: Principal) => Promise<ReceivedCalls>;

interface ReceivedCalls {
  /** Lines that the record refuses, which are left out. */
  readonly refused: readonly RefusedLine[];
  /** How many calls have parts that could not be read: their attributes name them. */
  readonly lossy: number;
}

/** Opens the receiving of calls: requests with lines of one rollout go one after the other, as one that is sent again while the first is recorded. */
export function openReceiveCalls(capture: Capture): ReceiveCalls {
  const exclusive = createExclusive(); // by rollouts
  return (lines, principal) => receive({ capture, exclusive }, lines, principal);
}

interface ReceivingWorld {
  readonly capture: Capture;
  readonly exclusive: Exclusive;
}

async function receive(
  { capture, exclusive }: ReceivingWorld,
  lines: readonly SeenLine[],
  principal: Principal,
): Promise<ReceivedCalls> {
  const refused: RefusedLine[] = [];
  let lossy = 0;
  const atATime = limitOf(AT_ONCE);
  let rollouts = new Map<string, SeenLine[]>();
  const recordAll = async () => {
    const waiting = [...rollouts];
    rollouts = new Map();
    const inTurn = ([key, own]: [string, SeenLine[]]) => atATime(() => exclusive.run([key], () => recordInOrder(own)));
    const ended = await Promise.allSettled(waiting.map(inTurn)); // none goes on behind the answer
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  };
  async function recordInOrder(own: readonly SeenLine[]): Promise<void> {
    for (const line of own) {
      try {
        if (await record(capture, line, principal)) lossy++;
      } catch (error) {
        if (error instanceof CaptureRefused) refused.push({ id: line.id, message: error.message, remedy: error.remedy });
        else if (error instanceof NotRecorded && error.isForGood)
          refused.push({ id: line.id, message: error.message, remedy: TOO_MUCH });
        else throw error;
      }
    }
  }
  for (const line of lines) {
    if (line.kind === 'close') {
      await recordAll();
      await recordInOrder([line]);
      continue;
    }
    const { run, task, rollout } = line.named;
    const key = JSON.stringify([principal.project, run, task, rollout]);
    rollouts.set(key, [...(rollouts.get(key) ?? []), line]);
  }
  await recordAll();
  return { refused, lossy };
}

/** Returns whether parts of a call could not be read. */
async function record(capture: Capture, line: SeenLine, principal: Principal): Promise<boolean> {
  switch (line.kind) {
    case 'call':
      return recordCall(capture, line, principal);
    case 'reward':
      await capture.reward(line.named, principal, line);
      return false;
    case 'end':
      await capture.end(line.named, principal, line);
      return false;
    case 'close':
      await capture.close(line.named, principal, line);
      return false;
    default:
      return line satisfies never;
  }
}

async function recordCall(
  capture: Capture,
  call: SeenCall & { readonly named: NamedPlace },
  principal: Principal,
): Promise<boolean> {
  const { api, beganMs, firstMs, totalMs, status, policy, requestHash, attempts, server } = call;
  return capture.using(call.named, principal, async (rollout) => {
    const callId = derivedId('client-call', rollout.place.rolloutId, call.id);
    const { callIds, calls } = rollout.state;
    if (callIds.has(callId) || calls.some((before) => before.callId === callId)) return false;
    if (api === 'embeddings') {
      await recordEmbeddings(rollout, call, callId);
      return false;
    }
    const request = readRequest(api, call.request);
    const asked = await rollout.ask({
      ...{ api, request, source: 'client', callId, now: beganMs },
      ...(policy ? { policy } : {}),
      ...(call.overlaps ? { aside: 'overlapping' } : {}),
    });
    const times = { status, firstMs, totalMs };
    const { reply, fault } = replyOf(api, call);
    const endedMs = beganMs + totalMs;
    if (reply && fault === null) await rollout.answered(asked, { reply, requestHash, attempts, server }, times, endedMs);
    else {
      const outcome = call.outcome === 'answered' ? 'failed' : call.outcome;
      await rollout.unanswered(asked, { ...times, outcome, message: fault ?? '' }, reply, { server, at: endedMs });
    }
    return asked.request.losses.length + (reply?.losses.length ?? 0) > 0;
  });
}

/** Records a call that is no step: what was embedded, and how many vectors of which size came; not the vectors. */
async function recordEmbeddings(rollout: CapturedRollout, call: SeenCall, callId: string): Promise<void> {
  const { beganMs, firstMs, totalMs, status, outcome, message, request: body, reply } = call;
  const request = readRequest('chat.completions', { model: body.model });
  const asked = await rollout.ask({ api: 'embeddings', request, source: 'client', callId, now: beganMs, aside: 'always' });
  const { data, usage = null, model = null } = isObject(reply) ? reply : {};
  const vectors = list(data).filter(isObject);
  const [first] = vectors.map(({ embedding }) => embedding);
  const dimensions = Array.isArray(first)
    ? first.length
    : typeof first === 'string'
      ? Buffer.from(first, 'base64').length / 4
      : null;
  const attributes = { input: body.input ?? null, vectors: vectors.length, dimensions, model, usage };
  await rollout.unanswered(asked, { status, firstMs, totalMs, outcome, message, attributes }, null, { at: beganMs + totalMs });
}

/** Reads what a call was answered, and why that is not all of a reply; null where it is. */
function replyOf(
  api: Api,
  { outcome, message, reply: body, parts, isDone }: SeenCall,
): {
  readonly reply: ReadReply | null;
  readonly fault: string | null;
} {
  const assembler = assemble(api);
  for (const part of parts ?? []) assembler.add(part);
  if (isDone) assembler.end();
  const whole = parts === null ? body : assembler.whole();
  const cut = parts === null ? null : assembler.fault();
  const why = outcome === 'answered' ? cut : message || 'the call failed';
  if (whole === null || whole === undefined) return { reply: null, fault: why ?? 'the answer of the model server is empty' };
  const { reply, fault } = tryReply(api, whole, assembler.losses);
  return { reply, fault: why ?? fault };
}
