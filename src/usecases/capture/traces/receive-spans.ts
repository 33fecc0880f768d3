import { derivedId } from '../../../events/derived-id.ts';
import type { Principal } from '../../../postgres/principal.ts';
import { CaptureRefused } from '../capture-errors.ts';
import type { CapturedRollout } from '../captured-rollout.ts';
import type { Capture } from '../open-capture.ts';
import type { Named } from '../place.ts';
import { readModelSpan } from './read-model-span.ts';
import { type Span, textOfSpan } from './read-spans.ts';
import { kindOf, MISSING, spanIdOf } from './span-kinds.ts';

/** What became of the spans of a request. */
export interface ReceivedSpans {
  readonly rejected: number;
  /** Why spans were rejected, or what those of calls lack; empty where there is nothing to say. */
  readonly message: string;
}

/**
 * Keeps the spans that describe agents, of calls of models and of tools, and the root of their trace: they are on record when
 * this resolves. They are placed later, in the order of their times (`placeSpans`). A span that is received again changes
 * nothing.
 * @throws NotRecorded.
 */
export async function receiveSpans(capture: Capture, spans: readonly Span[], principal: Principal): Promise<ReceivedSpans> {
  const places = new Map<string, { readonly named: Named; readonly endsWithTrace: boolean; readonly spans: Span[] }>();
  for (const span of spans) {
    if (kindOf(span) === null) continue;
    const place = placeOf(span);
    const key = JSON.stringify(place.named);
    const found = places.get(key) ?? { ...place, spans: [] };
    places.set(key, found);
    found.spans.push(span);
  }
  let [rejected, calls, empty] = [0, 0, 0];
  const why = new Set<string>();
  for (const { named, endsWithTrace, spans: own } of places.values()) {
    try {
      await capture.using(named, principal, async (rollout) => {
        const known = new Set(rollout.state.calls.map(({ callId }) => callId));
        const fresh = own.filter((span) => !known.has(spanIdOf(span)));
        if (rollout.state.ended) {
          rejected += fresh.filter((span) => kindOf(span) === 'model').length;
          if (rejected > 0) why.add(`the rollout ${named.rollout} has ended; name another rollout`);
          return;
        }
        // the root of a trace that describes nothing else is that of another program
        const isOurs = rollout.state.isOpen || rollout.state.hasSpans || own.some((span) => kindOf(span) !== 'root');
        if (!isOurs) return;
        await rollout.append(fresh.map((span) => draftOf(span, rollout, endsWithTrace)));
        rollout.state.hasSpans = true;
        const ofModels = fresh.filter((span) => kindOf(span) === 'model');
        calls += ofModels.length;
        empty += ofModels.filter((span) => readModelSpan(span).request.messages.length === 0).length;
      });
    } catch (error) {
      if (!(error instanceof CaptureRefused)) throw error;
      rejected += own.length;
      why.add(`${error.message}; ${error.remedy}`);
    }
  }
  const notes = [...why].slice(0, 5);
  if (empty > 0)
    notes.push(`${empty} of ${calls} calls hold no messages: let the instrumentation record the content of messages`);
  if (calls > 0) notes.push(`the calls are recorded without ${MISSING.join(', ')}: they train by text alone`);
  return { rejected, message: notes.join('. ') };
}

function draftOf(span: Span, { place }: CapturedRollout, endsWithTrace: boolean) {
  const { runId, treeId, rolloutId, run, task, rollout } = place;
  const spanId = spanIdOf(span);
  return {
    type: 'SpanReceived' as const,
    id: derivedId('SpanReceived', spanId),
    correlationId: runId,
    data: {
      spanId,
      treeId,
      rolloutId,
      run,
      task,
      rollout,
      kind: kindOf(span) ?? ('chain' as const),
      endsRollout: endsWithTrace && span.parentSpanId === null,
      startMs: span.startMs,
      span: textOfSpan(span),
    },
  };
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
