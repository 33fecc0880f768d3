import type { BlobStore } from '../../../blobs/blob-store.ts';
import { sha256Hex } from '../../../digest/sha256.ts';
import { type Envelope, stampOf } from '../../../events/envelope.ts';
import type { Db } from '../../../postgres/database.ts';
import { readEventsOfTypes } from '../../../projections/journal/read-events-of-types.ts';
import { NotRecorded } from '../capture-errors.ts';
import type { AttachedCall, CapturedRollout } from '../captured-rollout.ts';
import { isHeard, readSenders, rolloutIdOf, runIdOf, type Sender, treeIdOf } from '../place.ts';
import { agentName, agentsOf, MISSING, placeOf, readModelSpan, spanIdOf, toolSpanOf, withLogs } from './read-model-span.ts';
import { type Span, spanOfText } from './read-spans.ts';

const LATE = 'the span arrived when calls that began behind it were placed already: it is kept, and is no step';

/** A span of a call, and whether calls that began behind it were placed before it arrived. */
interface Call {
  readonly span: Span;
  readonly isLate: boolean;
}

export interface PlacingWorld {
  readonly db: Db;
  readonly blobs: BlobStore;
  /** Resolves while this server owns the placing of the rollout. */
  readonly confirm: () => Promise<void>;
}

/**
 * Records the calls of models among the received spans of a rollout as its calls, in the order of their times, and its end where
 * its trace says that. Killed in between, it is done again and goes on. What is late is decided by the order of the log alone.
 * Spans are kept before their run is opened, by anyone: only those count whose sender may add to it. @param holder who opened the
 * run, or is about to.
 * @returns `behind` where the record holds calls or an end that the rollout in memory does not: nothing was placed.
 * @throws NotRecorded; CaptureRefused where the task or the run is over.
 */
export async function placeSpans(
  rollout: CapturedRollout,
  holder: Sender,
  { db, blobs, confirm }: PlacingWorld,
): Promise<'placed' | 'behind'> {
  const { treeId, rolloutId } = rollout.place;
  const events = await readEventsOfTypes(db, treeId, ['SpanReceived', 'CallCaptured', 'RolloutFinished']);
  const recorded = new Set([...rollout.state.callIds, ...rollout.state.calls.map(({ callId }) => callId)]);
  for (const { type, data } of events) {
    if (data.rolloutId !== rolloutId) continue;
    if (type === 'CallCaptured' && !recorded.has(data.callId)) return 'behind';
    if (type === 'RolloutFinished' && !rollout.state.ended) return 'behind';
  }
  const senderOf = await readSenders(db, [holder, ...events.map(stampOf)]);
  const counts = (event: Envelope) => isHeard(senderOf(stampOf(event)), senderOf(holder));
  const starts = new Map<string, number>();
  const spans: { readonly span: Span; readonly data: Envelope<'SpanReceived'>['data']; readonly isLate: boolean }[] = [];
  let placedUntil = 0; // when the last of the calls began that were placed before
  for (const event of events) {
    const { type, data } = event;
    if (data.rolloutId !== rolloutId || (type === 'SpanReceived' && !counts(event))) continue;
    if (type === 'CallCaptured') placedUntil = Math.max(placedUntil, starts.get(data.callId) ?? 0);
    if (type !== 'SpanReceived' || starts.has(data.spanId)) continue;
    starts.set(data.spanId, data.startMs);
    const span = await readSpan(data, blobs);
    if (span) spans.push({ span, data, isLate: data.startMs < placedUntil });
  }
  const calls = spans.filter(({ data }) => data.kind === 'model' && !recorded.has(data.spanId));
  const logs = spans.flatMap(({ span }) => (span.isLog ? [span] : []));
  for (const log of await logsByResource(calls.map(({ span }) => span))) logs.push(log);
  const fresh = calls.map(({ span, isLate }) => ({ span: withLogs(span, logs), isLate }));
  const tools = spans.filter(({ data }) => data.kind === 'tool').toSorted((a, b) => a.span.startMs - b.span.startMs);
  rollout.toolSpans = tools.map(({ span }) => toolSpanOf(span));
  await recordCalls(rollout, fresh, new Map(spans.flatMap(({ span }) => (span.isLog ? [] : [[span.spanId, span]]))), confirm);
  const root = spans.find(({ data }) => data.endsRollout)?.span;
  if (root === undefined || !rollout.state.isOpen || rollout.state.ended) return 'placed';
  const end = { success: null, reason: root.failure ?? '', observation: '', now: root.endMs };
  await confirm();
  await rollout.end(root.failure === null ? 'terminated' : 'failed', end);
  return 'placed';

  /** Reads the log records of calls whose spans name their place: a log record has the resource and the id of the span only. */
  async function logsByResource(ofCalls: readonly Span[]): Promise<readonly Span[]> {
    const places = new Map<string, string>(); // trees, by rollouts
    for (const span of ofCalls) {
      const { named } = placeOf({ ...span, attributes: new Map() });
      const tree = treeIdOf(runIdOf(named.run, holder.project), named.task);
      const other = rolloutIdOf(tree, named.rollout);
      if (other !== rolloutId) places.set(other, tree);
    }
    const found: Span[] = [];
    for (const [other, tree] of places) {
      const received = await readEventsOfTypes(db, tree, ['SpanReceived']);
      const ofLogs = received.filter(({ data }) => data.rolloutId === other && data.kind === 'log');
      const senders = await readSenders(db, [holder, ...ofLogs.map(stampOf)]);
      for (const event of ofLogs) {
        const log = isHeard(senders(stampOf(event)), senders(holder)) ? await readSpan(event.data, blobs) : null;
        if (log) found.push(log);
      }
    }
    return found;
  }
}

async function readSpan({ span }: Envelope<'SpanReceived'>['data'], blobs: BlobStore): Promise<Span | null> {
  return spanOfText(typeof span === 'string' ? span : Buffer.from(await blobs.get(span.blob)).toString('utf8'));
}

/** Records calls as they were made: one that began while another was open, or in a sub-agent, is a sub-agent's. */
async function recordCalls(
  rollout: CapturedRollout,
  calls: readonly Call[],
  spans: ReadonlyMap<string, Span>,
  confirm: PlacingWorld['confirm'],
): Promise<void> {
  const open = new Map<Span, AttachedCall>();
  // at one moment calls end before others begin, and one that took no time ends when it has begun
  const moments = calls.flatMap(({ span, isLate }) => [
    { span, isLate, at: span.startMs, order: 1, isEnd: false },
    { span, isLate, at: span.endMs, order: span.endMs > span.startMs ? 0 : 1, isEnd: true },
  ]);
  const compareIds = (a: Span, b: Span) => (a.spanId === b.spanId ? 0 : a.spanId < b.spanId ? -1 : 1);
  moments.sort((a, b) => a.at - b.at || a.order - b.order || compareIds(a.span, b.span) || Number(a.isEnd) - Number(b.isEnd));
  let onPath: readonly Span[] | null = null; // the agents of the last call of the path
  for (const { span, isLate, at, isEnd } of moments) {
    const { request, reply, rest, losses } = readModelSpan(span);
    const agents = agentsOf(span, spans);
    await confirm();
    if (!isEnd) {
      const isSubAgent = onPath !== null && onPath.length < agents.length && onPath.every((agent, i) => agent === agents[i]);
      const aside = isLate ? ('always' as const) : isSubAgent ? ('sub-agent' as const) : undefined;
      const asking = { api: 'chat.completions', request, source: 'trace', callId: spanIdOf(span), now: at } as const;
      const asked = await rollout.ask(aside === undefined ? asking : { ...asking, aside });
      if (asked.call.place === 'path') onPath = agents;
      open.set(span, asked);
      continue;
    }
    const asked = open.get(span);
    if (!asked) continue;
    const { traceId, spanId, parentSpanId, name } = span;
    const attributes = {
      trace: { traceId, spanId, parentSpanId, name },
      missing: MISSING,
      ...rest,
      ...(agents.length === 0 ? {} : { agents: agents.map(agentName) }),
    };
    const times = { status: null, firstMs: null, totalMs: span.endMs - span.startMs, attributes };
    if (isLate || span.failure !== null || reply.choices.length === 0) {
      const message = isLate
        ? LATE
        : span.failure || ['the span holds no reply of the model', ...losses, ...reply.losses].join('; ');
      const partial = isLate ? reply : { ...reply, choices: [] };
      await unlessRefused(rollout.unanswered(asked, { ...times, outcome: 'failed', message }, partial));
      continue;
    }
    const requestHash = sha256Hex(JSON.stringify([request.messages, request.tools, request.sampling]));
    await unlessRefused(rollout.answered(asked, { reply, requestHash, attempts: 1, server: null }, times, at));
  }
}

/** Waits until a call is recorded. One that no record takes is on record as failed, with the reason: the others go on. */
async function unlessRefused(recorded: Promise<unknown>): Promise<void> {
  try {
    await recorded;
  } catch (error) {
    if (!(error instanceof NotRecorded && error.isForGood)) throw error;
  }
}
