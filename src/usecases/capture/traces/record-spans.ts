import { sha256Hex } from '../../../digest/sha256.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { Principal } from '../../../postgres/principal.ts';
import { CaptureRefused } from '../capture-errors.ts';
import type { Asked, CapturedRollout } from '../captured-rollout.ts';
import type { Capture } from '../open-capture.ts';
import type { Named } from '../place.ts';
import { isModelSpan, readModelSpan } from './read-model-span.ts';
import type { Span } from './read-spans.ts';

/** What became of the spans of a request. */
export interface RecordedSpans {
  readonly rejected: number;
  /** Why spans were rejected, or what recorded ones lack; empty where there is nothing to say. */
  readonly message: string;
}

/** What a span of a call cannot say, and training by tokens needs. */
const MISSING = ['prompt token ids', 'token ids', 'log-probabilities'];

/**
 * Records the calls of models among spans as the calls of captured rollouts, in the order of their times. A span on record
 * changes nothing. The root of a trace ends its rollout where the trace itself names that. @throws NotRecorded.
 */
export async function recordSpans(capture: Capture, spans: readonly Span[], principal: Principal): Promise<RecordedSpans> {
  const places = new Map<string, { readonly named: Named; readonly endsWithTrace: boolean; readonly spans: Span[] }>();
  for (const span of spans) {
    const place = placeOf(span);
    const key = JSON.stringify(place.named);
    const found = places.get(key) ?? { ...place, spans: [] };
    places.set(key, found);
    found.spans.push(span);
  }
  let [rejected, recorded, empty] = [0, 0, 0];
  const why = new Set<string>();
  for (const { named, endsWithTrace, spans: own } of places.values()) {
    const calls = own.filter(isModelSpan);
    const root = endsWithTrace ? own.find(({ parentSpanId }) => parentSpanId === null) : undefined;
    if (calls.length === 0 && root === undefined) continue; // nothing of it is a call
    try {
      await capture.using(named, principal, async (rollout) => {
        const fresh = calls.filter((span) => rollout.state.calls.every(({ callId }) => callId !== callIdOf(span)));
        await recordCalls(rollout, fresh);
        recorded += fresh.length;
        empty += fresh.filter((span) => readModelSpan(span).request.messages.length === 0).length;
        if (root === undefined || !rollout.state.isOpen || rollout.state.ended) return;
        const end = { success: null, reason: root.failure ?? '', observation: '', now: root.endMs };
        await rollout.end(root.failure === null ? 'terminated' : 'failed', end);
      });
    } catch (error) {
      if (!(error instanceof CaptureRefused)) throw error;
      rejected += calls.length || 1;
      why.add(`${error.message}; ${error.remedy}`);
    }
  }
  const notes = [...why].slice(0, 5);
  if (empty > 0)
    notes.push(`${empty} of ${recorded} calls hold no messages: let the instrumentation record the content of messages`);
  if (recorded > 0) notes.push(`the calls are recorded without ${MISSING.join(', ')}: they train by text alone`);
  return { rejected, message: notes.join('. ') };
}

/** Records calls as they were made: one that began while another was open is a sub-agent's. */
async function recordCalls(rollout: CapturedRollout, spans: readonly Span[]): Promise<void> {
  const open = new Map<Span, Asked>();
  const moments = spans.flatMap((span) => [
    { span, at: span.startMs, order: 1 },
    { span, at: Math.max(span.endMs, span.startMs + 1e-6), order: 0 },
  ]);
  moments.sort((a, b) => a.at - b.at || a.order - b.order || (a.span.spanId < b.span.spanId ? -1 : 1));
  for (const { span, at, order } of moments) {
    const { request, reply, rest } = readModelSpan(span);
    if (order === 1) {
      const asking = { api: 'chat.completions', request, source: 'trace', callId: callIdOf(span), now: at } as const;
      open.set(span, await rollout.ask(asking));
      continue;
    }
    const asked = open.get(span);
    if (!asked) continue;
    const { traceId, spanId, parentSpanId, name } = span;
    const attributes = { trace: { traceId, spanId, parentSpanId, name }, missing: MISSING, ...rest };
    const times = { status: null, firstMs: null, totalMs: span.endMs - span.startMs, attributes };
    if (span.failure !== null || reply.choices.length === 0) {
      const message = span.failure || 'the span holds no reply of the model';
      await rollout.unanswered(asked, { ...times, outcome: 'failed', message }, null);
      continue;
    }
    const requestHash = sha256Hex(JSON.stringify([request.messages, request.tools, request.sampling]));
    await rollout.answered(asked, { reply, requestHash, attempts: 1, server: null }, times, at);
  }
}

function callIdOf({ traceId, spanId }: Span): string {
  return derivedId('call-span', traceId, spanId);
}

function placeOf({ attributes, resource, traceId }: Span): { readonly named: Named; readonly endsWithTrace: boolean } {
  const of = (name: string): string | null => {
    const given = attributes.get(name) ?? resource.get(name);
    return given === undefined || given === null || given === '' ? null : String(given);
  };
  const rollout = of('espalier.rollout');
  const named = { run: of('espalier.run') ?? of('service.name') ?? 'traces', task: of('espalier.task') ?? traceId };
  return { named: { ...named, rollout: rollout ?? traceId }, endsWithTrace: rollout === null };
}
