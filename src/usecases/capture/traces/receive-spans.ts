import { derivedId } from '../../../events/derived-id.ts';
import type { Db } from '../../../postgres/database.ts';
import type { Principal } from '../../../postgres/principal.ts';
import { nameOfWaiting, readWaitingRollouts } from '../../../projections/held-spans/read-waiting.ts';
import { isTransientFault } from '../../../projections/transient-fault.ts';
import { createExclusive } from '../../../runtime/exclusive.ts';
import { CaptureRefused, NotRecorded } from '../capture-errors.ts';
import type { CapturedRollout } from '../captured-rollout.ts';
import type { Capture } from '../open-capture.ts';
import { type NamedPlace, readSenders } from '../place.ts';
import { kindOf, MISSING, placeOf, readModelSpan, spanIdOf } from './read-model-span.ts';
import { type Span, textOfSpan } from './read-spans.ts';

/** What became of the spans of a request. */
interface ReceivedSpans {
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
  const places = new Map<string, { readonly named: NamedPlace; readonly endsWithTrace: boolean; readonly spans: Span[] }>();
  for (const span of spans) {
    if (kindOf(span) === null) continue;
    const place = placeOf(span);
    const key = JSON.stringify(place.named);
    const found = places.get(key) ?? { ...place, spans: [] };
    places.set(key, found);
    found.spans.push(span);
  }
  let [rejected, calls, empty, lossy] = [0, 0, 0, 0];
  const why = new Set<string>();
  for (const { named, endsWithTrace, spans: own } of places.values()) {
    try {
      await capture.using(named, principal, async (rollout) => {
        const known = new Set(rollout.state.calls.map(({ callId }) => callId));
        const fresh = own.filter((span) => !known.has(spanIdOf(span)));
        if (rollout.state.ended) {
          let lost = 0;
          for (const span of fresh) {
            if (kindOf(span) === 'model') lost++;
            else if (span.isLog && !(await capture.hasSpan(rollout, spanIdOf(span)))) lost++;
          }
          rejected += lost;
          if (lost > 0) why.add(`the rollout ${named.rollout} has ended; name another rollout`);
          return;
        }
        // the root of a trace that describes nothing else is that of another program
        const isOurs = rollout.state.isOpen || rollout.state.hasSpans || own.some((span) => kindOf(span) !== 'root');
        if (!isOurs) return;
        await rollout.append(fresh.map((span) => draftOf(span, rollout, endsWithTrace)));
        rollout.state.hasSpans = true;
        const ofModels = fresh.filter((span) => kindOf(span) === 'model');
        calls += ofModels.length;
        for (const { request, losses, reply } of ofModels.map(readModelSpan)) {
          const all = [...losses, ...reply.losses];
          if (all.length > 0) lossy++;
          else if (request.messages.length === 0) empty++;
          for (const loss of all) why.add(loss);
        }
      });
    } catch (error) {
      if (!(error instanceof CaptureRefused)) throw error;
      rejected += own.length;
      why.add(`${error.message}; ${error.remedy}`);
    }
  }
  const notes = [...why].slice(0, 5);
  if (empty > 0)
    notes.push(
      `${empty} of ${calls} calls hold no messages: let the instrumentation record the content of messages, and send its logs to /v1/logs where it writes them there`,
    );
  if (lossy > 0)
    notes.push(`${lossy} of ${calls} calls lose of their messages: OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT cuts attributes off`);
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
      endsRollout: !span.isLog && endsWithTrace && span.parentSpanId === null, // a log has no parent either
      startMs: span.startMs,
      span: textOfSpan(span),
    },
  };
}

interface TracesWorld {
  readonly db: Db;
  readonly capture: Capture;
}

/** How long no span of a rollout must have arrived before those that did are placed: where its end arrived, and where not. */
interface Quiet {
  readonly endedMs: number;
  readonly openMs: number;
}

/** Exporters send every five seconds, and again what was not accepted. */
export const QUIET: Quiet = { endedMs: 10_000, openMs: 120_000 };

export interface Traces {
  /**
   * Places what waits and is quiet. Returns why some of it cannot be placed, each once: what is refused is left out from then on,
   * and what failed is tried again. @throws what passes without us, an outage: nothing else would be placed either.
   */
  place(quiet: Quiet): Promise<readonly string[]>;
}

/** Opens the placing of spans that wait, which the record knows: a server that is started goes on with them. */
export function openTraces({ db, capture }: TracesWorld): Traces {
  const exclusive = createExclusive();
  const refused = new Set<string>();
  const failed = new Map<string, string>(); // by name, what was said of it
  return {
    place: (quiet) =>
      exclusive.run(['place'], async () => {
        const said: string[] = [];
        const waitingNow = await readWaitingRollouts(db, { except: [...refused] });
        const senderOf = await readSenders(db, waitingNow);
        for (const waiting of waitingNow) {
          const quietMs = Date.now() - waiting.lastAt.getTime();
          if (quietMs < (waiting.ends ? quiet.endedMs : quiet.openMs)) continue;
          try {
            // the run may have been opened by another since the spans arrived
            await capture.placeSpans(waiting, senderOf(waiting));
            failed.delete(nameOfWaiting(waiting));
          } catch (error) {
            const name = nameOfWaiting(waiting);
            const spans = `the spans of rollout ${waiting.rollout} of run ${waiting.run}`;
            if (error instanceof CaptureRefused) {
              refused.add(name); // until the server is started again
              said.push(`${spans} are no steps: ${error.message}; ${error.remedy}`);
              continue;
            }
            if (error instanceof NotRecorded && error.isForGood) {
              refused.add(name); // it would be refused again
              said.push(`${spans} are no steps: ${error.message}`);
              continue;
            }
            if (isTransientFault(error instanceof NotRecorded ? error.cause : error)) throw error;
            const why = `${spans} wait to be placed: ${error instanceof Error ? error.message : String(error)}`;
            if (failed.get(name) !== why) said.push(why);
            failed.set(name, why);
          }
        }
        return said;
      }),
  };
}
