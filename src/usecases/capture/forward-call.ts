import { Readable } from 'node:stream';
import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { tryJsonText } from '../../events/json-text.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import { serverMessage } from '../../policies/openai/post-json.ts';
import { isObject, type Json } from '../../policies/openai/read-messages.ts';
import type { Principal } from '../../postgres/principal.ts';
import type { CallEnd } from './capture-drafts.ts';
import { NotRecorded, UpstreamFailed } from './capture-errors.ts';
import type { AttachedCall, CapturedRollout } from './captured-rollout.ts';
import type { Capture } from './open-capture.ts';
import type { NamedPlace } from './place.ts';
import { assemble, type ReadReply, tryReply } from './read-reply.ts';
import { readRequest } from './read-request.ts';
import type { RefusedExtras } from './refused-extras.ts';
import { readText, type Silence, type StreamEvent, splitEvents, watchSilence } from './split-events.ts';
import type { CountUnrecorded } from './unrecorded.ts';
import { type Added, ASKS, type Ask, hasExtras, type Upstream, withExtras, withoutExtras } from './upstream.ts';

export interface ForwardOptions {
  readonly capture: Capture;
  readonly upstream: Upstream;
  /** Whether a call whose record cannot be appended fails, or is answered all the same and says so. */
  readonly whenUnrecorded: 'fail' | 'pass';
  /** Bytes of one reply. */
  readonly replyBytes: number;
  readonly refused: RefusedExtras;
  readonly onUnrecorded: CountUnrecorded;
}

export interface ForwardedCall {
  readonly named: NamedPlace;
  readonly principal: Principal;
  readonly api: ProxyApi;
  readonly body: Json;
  readonly policy?: PolicyRef;
  /** Aborted when the program goes away before there is an answer. */
  readonly signal: AbortSignal;
}

/** An answer for the program. */
export interface Forwarded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Readable;
}

export const PATHS = { 'chat.completions': '/chat/completions', responses: '/responses' } as const;
/** A protocol that calls are passed on by. */
export type ProxyApi = keyof typeof PATHS;

/**
 * Sends a call to the model server and records it. A reply is on record before its end is passed on: who has it may rely on it.
 * @throws CaptureRefused; NotRecorded where calls fail with their record; UpstreamFailed.
 */
export async function forwardCall(world: ForwardOptions, call: ForwardedCall): Promise<Forwarded> {
  const request = readRequest(call.api, call.body);
  const recording = new Recording(world);
  await recording.begin(() =>
    world.capture.using(call.named, call.principal, async (rollout) => {
      const policy = call.policy === undefined ? {} : { policy: call.policy };
      return { rollout, asked: await rollout.ask({ api: call.api, request, source: 'proxy', ...policy, now: Date.now() }) };
    }),
  );
  const silence = watchSilence(world.upstream.timeoutMs, call.signal);
  let isRecorded = false;
  try {
    const sent = await send(world, call, request.model, silence.signal);
    recording.sent(sent);
    const type = sent.response.headers.get('content-type') ?? '';
    if (sent.response.ok && type.includes('text/event-stream')) {
      silence.move();
      const parts = passOn(world, call, sent, recording, silence);
      const first = await parts.next().catch((error: unknown) => {
        isRecorded = true;
        throw error; // nothing was passed on: there can be a status
      });
      const stream = Readable.from(following(first, parts), { objectMode: false });
      // a generator that waits for the model server cannot be ended: the wait is
      const end = stream._destroy.bind(stream);
      stream._destroy = (error, done) => {
        silence.abort(new Error('the program went away'));
        end(error, done);
      };
      return { status: sent.response.status, headers: { ...headersOf(sent.response), ...recording.notes() }, body: stream };
    }
    const text = sent.hide(await readText(sent.response, world.replyBytes, silence));
    silence.stop();
    if (sent.response.ok) return await answerWhole(call, sent, recording, text);
    await recording.failed(serverMessage(text), sent.response.status);
    return { status: statusOf(sent.response), headers: { ...headersOf(sent.response), ...recording.notes() }, body: text };
  } catch (error) {
    silence.stop();
    if (error instanceof NotRecorded) throw error;
    const fault = faultOf(error, world, silence.signal);
    if (isRecorded) throw fault;
    if (call.signal.aborted) await recording.cancelled('the program went away');
    else await recording.failed(fault.message, null);
    throw fault;
  }
}

async function* following(first: IteratorResult<Buffer>, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

async function answerWhole(
  { api }: ForwardedCall,
  { response, added }: Sent,
  recording: Recording,
  text: string,
): Promise<Forwarded> {
  const body = tryJsonText(text);
  const { reply, fault } = tryReply(api, body);
  if (fault === null) await recording.answered(reply, response.status);
  else await recording.failed(fault, response.status, reply);
  const cleaned = isObject(body) && hasExtras(added) ? (withoutExtras(text, body, added, 'whole') ?? text) : text;
  return { status: response.status, headers: { ...headersOf(response), ...recording.notes() }, body: cleaned };
}

/** Passes a stream on, event by event as they arrive; its last one when the reply is on record. */
async function* passOn(
  { replyBytes }: ForwardOptions,
  { api }: ForwardedCall,
  { response, added, hide }: Sent,
  recording: Recording,
  silence: Silence,
): AsyncGenerator<Buffer> {
  const parts = assemble(api);
  const splitter = splitEvents();
  const held: string[] = [];
  let fault: string | null = null;
  let bytes = 0;
  const take = ({ raw, data }: StreamEvent): string | null => {
    if (data === null) return raw;
    recording.first();
    if (data.trim() === '[DONE]') {
      parts.end();
      held.push(raw);
      return null;
    }
    const part = tryJsonText(data);
    if (!isObject(part)) {
      fault ??= `the stream holds what is no JSON object: ${JSON.stringify(data.slice(0, 200))}`;
      return raw;
    }
    parts.add(part);
    if (api === 'responses') {
      if (parts.isComplete()) held.push(raw);
      return parts.isComplete() ? null : raw;
    }
    if (!hasExtras(added)) return raw;
    const cleaned = withoutExtras(data, part, added, 'part');
    return cleaned === data ? raw : cleaned && `data: ${cleaned.replaceAll('\n', '\ndata: ')}\n\n`;
  };
  const whole = () => (parts.whole() === null ? null : tryReply(api, parts.whole(), parts.losses));
  let isSettled = false;
  try {
    for await (const chunk of response.body ?? []) {
      silence.move();
      bytes += chunk.byteLength;
      if (bytes > replyBytes) throw new UpstreamFailed('protocol', `the reply is longer than ${replyBytes} bytes`);
      for (const event of splitter.add(chunk)) {
        const out = take(event);
        if (out !== null) yield Buffer.from(hide(out));
      }
    }
    for (const event of splitter.rest()) {
      const out = take(event);
      if (out !== null) yield Buffer.from(hide(out));
    }
    const read = whole();
    fault ??= parts.fault() ?? read?.fault ?? null;
    isSettled = true;
    silence.stop();
    if (read && fault === null) await recording.answered(read.reply, response.status);
    else await recording.failed(fault ?? 'the stream holds no reply', response.status, read?.reply);
    for (const raw of held) yield Buffer.from(hide(raw));
  } catch (error) {
    if (isSettled) throw error;
    isSettled = true;
    if (silence.signal.aborted && !silence.isOver())
      return recording.cancelled('the program went away', response.status, whole()?.reply);
    await recording.failed(silence.isOver() ? silence.reason : message(error), response.status, whole()?.reply);
    throw error; // the connection of the program is cut: what it has is not all
  } finally {
    silence.stop();
    if (!isSettled) await recording.cancelled('the program went away', response.status, whole()?.reply);
  }
}

interface Sent {
  readonly response: Response;
  /** Replaces secrets by their names. */
  readonly hide: (text: string) => string;
  readonly added: Added;
  readonly requestHash: string;
  readonly attempts: number;
}

/** Sends a call with what the record asks for besides; where the model server refuses that, without it. */
async function send(
  { upstream, refused }: ForwardOptions,
  { api, body, principal }: ForwardedCall,
  model: string | null,
  signal: AbortSignal,
): Promise<Sent> {
  const asked = `${principal.principal} ${model ?? ''}`;
  const first = refused.askOf(asked) ?? upstream.ask;
  const once = async (ask: Ask, attempts: number): Promise<Sent> => {
    const { text, added } = withExtras(api, body, ask);
    const { response, hide } = await upstream.send(PATHS[api], text, signal);
    return { response, hide, added, requestHash: sha256Hex(text), attempts };
  };
  let sent = await once(first, 1);
  for (const ask of ASKS.slice(ASKS.indexOf(first) + 1)) {
    if (!hasExtras(sent.added) || ![400, 403, 422].includes(sent.response.status)) return sent;
    const fewer = await once(ask, sent.attempts + 1);
    // what was refused may have been another field: then every form is refused, and the first refusal is as good
    if (fewer.response.ok) refused.note(asked, ask, sent.response.status);
    await sent.response.body?.cancel();
    sent = fewer;
  }
  return sent;
}

interface Opened {
  readonly rollout: CapturedRollout;
  readonly asked: AttachedCall;
}

/** Records one call: what fails here fails the call, or is noted in its answer. */
class Recording {
  readonly #world: ForwardOptions;
  readonly #began = performance.now();
  #open: Opened | null = null;
  #sent: Sent | null = null;
  #firstMs: number | null = null;
  #unrecorded: string | null = null;

  constructor(world: ForwardOptions) {
    this.#world = world;
  }

  async begin(open: () => Promise<Opened>): Promise<void> {
    await this.#orNote(async () => {
      this.#open = await open();
    });
  }

  sent(sent: Sent): void {
    this.#sent = sent;
  }

  first(): void {
    this.#firstMs ??= performance.now() - this.#began;
  }

  async answered(reply: ReadReply, status: number): Promise<void> {
    const [open, sent] = [this.#open, this.#sent];
    if (!open || !sent) return;
    const { requestHash, attempts } = sent;
    const answered = { reply, requestHash, attempts, server: cutText(this.#world.upstream.shown, 500) };
    await this.#orNote(() => open.rollout.answered(open.asked, answered, { status, ...this.#times() }, Date.now()));
    this.#countLosses(open, reply);
  }

  failed(message: string, status: number | null, partial: ReadReply | null = null): Promise<void> {
    return this.#unanswered({ outcome: 'failed', status, message, ...this.#times() }, partial);
  }

  cancelled(message: string, status: number | null = null, partial: ReadReply | null = null): Promise<void> {
    return this.#unanswered({ outcome: 'cancelled', status, message, ...this.#times() }, partial).catch(() => undefined); // nobody listens
  }

  /** What the answer says of its record. */
  notes(): Readonly<Record<string, string>> {
    return this.#unrecorded === null ? {} : { 'x-espalier-unrecorded': this.#unrecorded };
  }

  async #unanswered(end: CallEnd, partial: ReadReply | null): Promise<void> {
    const open = this.#open;
    if (!open) return;
    const server = cutText(this.#world.upstream.shown, 500);
    await this.#orNote(() => open.rollout.unanswered(open.asked, end, partial, { server }));
    this.#countLosses(open, partial);
  }

  #countLosses({ asked }: Opened, reply: ReadReply | null): void {
    const [loss] = [...asked.request.losses, ...(reply?.losses ?? [])];
    if (loss !== undefined && this.#open) this.#world.onUnrecorded('unread', loss);
  }

  async #orNote(record: () => Promise<unknown>): Promise<void> {
    try {
      await record();
    } catch (error) {
      const open = this.#open;
      if (open) this.#world.capture.letGo(open.rollout);
      if (!(error instanceof NotRecorded) || this.#world.whenUnrecorded === 'fail') throw error;
      this.#open = null;
      this.#unrecorded = cutText(error.message, 500).replace(/[^\x20-\x7e]/g, '?');
      this.#world.onUnrecorded(error.isForGood ? 'refused' : 'not-appended', error.message);
    }
  }

  #times(): Pick<CallEnd, 'firstMs' | 'totalMs'> {
    return { firstMs: this.#firstMs, totalMs: performance.now() - this.#began };
  }
}

const PASSED = /^(content-type|retry-after|retry-after-ms|x-request-id|x-ratelimit-.*|openai-.*)$/;

export function headersOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => PASSED.test(name)));
}

/** A redirect is no answer here: it would lead the program past the record. */
export function statusOf({ status }: Response): number {
  return status >= 300 && status < 400 ? 502 : status;
}

export function faultOf(error: unknown, { upstream }: Pick<ForwardOptions, 'upstream'>, signal: AbortSignal): UpstreamFailed {
  if (error instanceof UpstreamFailed) return error;
  if (signal.aborted && signal.reason instanceof UpstreamFailed) return signal.reason;
  return new UpstreamFailed(
    'unreachable',
    upstream.hide(`the model server at ${upstream.shown} was not reached: ${message(error)}`),
    {
      cause: error,
    },
  );
}

function message(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause : null;
  return cause ? `${error.message}: ${'code' in cause ? String(cause.code) : cause.message}` : error.message;
}
