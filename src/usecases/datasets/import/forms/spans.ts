import { wellFormed } from '../../../../events/well-formed.ts';
import { kindOf, placeOf, readModelSpan, withLogs } from '../../../capture/traces/read-model-span.ts';
import { readLogs, readSpans, type Span } from '../../../capture/traces/read-spans.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, withNotes } from '../agent-traj-item.ts';
import { readParsedRows } from '../read-rows.ts';
import { chatEpisode, chatMessageOf, namesIn } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';
import { type CallOfTrace, longestConversation } from './longest-conversation.ts';

/** Spans in a file: requests of OTLP as JSON, as the collector writes them, spans as SDKs print them, or as Phoenix lists them. */
export const spansForm = {
  name: 'spans',
  importer: 'spans/1',
  title: 'spans of OpenTelemetry',
  policyId: 'traces',
  notKept: 'token ids, rewards, times, settings of models, spans of tools, and calls beside the longest conversation of a trace',
  recognizes: (first) => 'resourceSpans' in first || 'resourceLogs' in first || spansIn(first).length > 0,
  items: readTraces,
} as const satisfies ItemForm;

/** A trace of a file and the line of its first span. */
interface Trace {
  readonly line: number;
  readonly spans: Map<string, Span>;
  readonly logs: Span[];
  readonly notes: RowNote[];
  /** How many rows before it, and before its last span, cannot be read. */
  readonly brokenBefore: number;
  brokenWithin: number;
}

/**
 * Reads a file to its end, since the spans of a trace may be anywhere in it: each trace is the longest conversation of its calls.
 * A row that cannot be read may be of any trace: see `refusedWith`.
 */
async function* readTraces(...[path, { environment }, hash]: Parameters<ItemForm['items']>): ReturnType<ItemForm['items']> {
  const traces = new Map<string, Trace>();
  const broken: number[] = []; // lines
  for await (const row of readParsedRows(path, hash)) {
    const parsed = row.kind === 'refused' ? row : rowOf(row.value);
    if (parsed.kind === 'refused') {
      broken.push(row.line);
      yield { line: row.line, parsed: { kind: 'refused', reason: parsed.reason } };
      continue;
    }
    for (const span of parsed.spans) {
      const of: Trace = traces.get(span.traceId) ?? newTrace(row.line, broken.length);
      traces.set(span.traceId, of);
      of.brokenWithin = broken.length - of.brokenBefore;
      for (const note of parsed.notes) if (!of.notes.some((said) => sameNote(said, note))) of.notes.push(note);
      if (span.isLog) of.logs.push(span);
      else of.spans.set(span.spanId, span);
    }
  }
  for (const [traceId, trace] of traces) {
    const refused = refusedWith(trace, broken);
    if (refused) yield refused;
    else yield { line: trace.line, parsed: parseTrace(traceId, trace, environment) };
  }
}

function newTrace(line: number, brokenBefore: number): Trace {
  return { line, spans: new Map(), logs: [], notes: [], brokenBefore, brokenWithin: 0 };
}

function sameNote(a: RowNote, b: RowNote): boolean {
  return a.kind === b.kind && a.field === b.field;
}

/**
 * Refuses a trace that may lack the spans of a row that cannot be read: it goes on after that row, or lacks the parent of a span.
 * Others of such a file are noted: nobody knows whether the row held a span of theirs.
 */
function refusedWith({ spans, notes, brokenBefore, brokenWithin }: Trace, broken: readonly number[]): ItemOfFile | null {
  const [first] = broken;
  if (first === undefined) return null;
  const isWhole = [...spans.values()].every(({ parentSpanId: parent }) => parent === null || spans.has(parent));
  if (brokenWithin === 0 && isWhole) {
    notes.push({ kind: 'part-not-read', field: 'line that may be of the trace' });
    return null;
  }
  const reason = `a trace ${brokenWithin > 0 ? 'continues after' : 'may have its root in'} this line, which cannot be read; repair the line, or the trace is left out whole`;
  return { line: (brokenWithin > 0 ? broken[brokenBefore] : undefined) ?? first, parsed: { kind: 'refused', reason } };
}

type Row =
  | { readonly kind: 'spans'; readonly spans: readonly Span[]; readonly notes: readonly RowNote[] }
  | { readonly kind: 'refused'; readonly reason: string };

function rowOf(given: unknown): Row {
  const value = wellFormed(given).value;
  if (!isObject(value)) return { kind: 'refused', reason: 'the row is no object' };
  try {
    const plain = spansIn(value);
    const read = plain.length > 0 ? readSpans({ resourceSpans: plain.map(requestOf) }) : readSpans(value);
    const spans = [...read.spans, ...readLogs(value).spans];
    const entries = plain.length > 0 && Array.isArray(value.data) ? value.data.length : plain.length;
    const unread = read.unread + entries - plain.length;
    if (unread > 0 && spans.length === 0)
      return { kind: 'refused', reason: `${unread} of its spans have no ids or times, or end before they start` };
    const notes = unread > 0 ? [...characterNotes(given), WITHOUT_IDS] : characterNotes(given);
    return { kind: 'spans', spans, notes };
  } catch (error) {
    return { kind: 'refused', reason: error instanceof Error ? error.message : String(error) };
  }
}

const WITHOUT_IDS: RowNote = { kind: 'part-not-read', field: 'span without ids or times' };

type Json = Readonly<Record<string, unknown>>;

/** Returns the spans of a row that is one, as SDKs print it, or a page of them, as Phoenix answers it. */
function spansIn(row: Json): readonly Json[] {
  const each = Array.isArray(row.data) ? row.data : [row];
  return each.filter(isObject).filter(({ context, start_time: start }) => isObject(context) && typeof start === 'string');
}

/** Writes a span that has its ids in `context` as OTLP does. */
function requestOf(span: Json): Json {
  const { context, name, parent_id: parent, start_time: start, end_time: end, status, attributes, events, resource } = span;
  const id = (given: unknown) => String(given ?? '').replace(/^0x/, '');
  const { trace_id: traceId, span_id: spanId } = isObject(context) ? context : {};
  const { status_code: code, description } = isObject(status) ? status : span;
  return {
    resource: isObject(resource) ? { attributes: keyValues(resource.attributes) } : undefined,
    scopeSpans: [
      {
        spans: [
          {
            ...{ name, traceId: id(traceId), spanId: id(spanId), parentSpanId: id(parent) },
            ...{ startTimeUnixNano: nanosOf(start), endTimeUnixNano: nanosOf(end) },
            status: { code: `STATUS_CODE_${code}`, message: description ?? span.status_message },
            attributes: keyValues(attributes),
            events: (Array.isArray(events) ? events : [])
              .filter(isObject)
              .map((event) => ({ name: event.name, attributes: keyValues(event.attributes) })),
          },
        ],
      },
    ],
  };
}

function nanosOf(given: unknown): string | null {
  const ms = Date.parse(String(given));
  const [, finer = ''] = /\.\d{3}(\d{1,6})/.exec(String(given)) ?? [];
  return Number.isNaN(ms) ? null : String(BigInt(ms) * 1_000_000n + BigInt(finer.padEnd(6, '0')));
}

function keyValues(given: unknown): readonly Json[] {
  return isObject(given) ? Object.entries(given).map(([key, value]) => ({ key, value: anyValueOf(value) })) : [];
}

function anyValueOf(value: unknown): Json {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValueOf) } };
  if (isObject(value)) return { kvlistValue: { values: keyValues(value) } };
  return typeof value === 'number' && Number.isInteger(value) ? { intValue: value } : { stringValue: value };
}

/** What a call loses of its messages; what it loses of its settings and tools keeps it from nothing. */
const OF_MESSAGES =
  /^(messages|gen_ai\.(input|output)\.messages|gen_ai\.system_instructions|ai\.prompt\.messages|ai\.response\.toolCalls)\b/;

function parseTrace(traceId: string, { spans, logs, notes: ofRows }: Trace, environment: string | null): ParsedItem {
  const notes = [...ofRows];
  const calls: CallOfTrace<ReturnType<typeof readModelSpan>>[] = [];
  for (const span of [...spans.values()].toSorted((a, b) => a.startMs - b.startMs)) {
    if (kindOf(span) !== 'model') continue;
    const read = readModelSpan(withLogs(span, logs));
    const [choice, ...others] = read.reply.choices;
    for (const field of [...read.losses, ...read.reply.losses]) notes.push({ kind: 'part-not-read', field });
    if (others.length > 0) notes.push({ kind: 'part-not-read', field: 'reply beside the first' });
    if (choice && !read.losses.some((loss) => OF_MESSAGES.test(loss)))
      calls.push({ of: read, chat: [...read.request.messages, choice.message].map(chatMessageOf) });
    else if (!choice) notes.push({ kind: 'part-not-read', field: 'call without a reply' });
  }
  const conversation = longestConversation(calls);
  if (!conversation) return { kind: 'no-conversation' };
  const { longest, turns: onPath, beside } = conversation;
  for (let i = 0; i < beside; i++) notes.push({ kind: 'part-not-read', field: 'call beside the conversation' });
  const root = [...spans.values()].find(({ parentSpanId }) => parentSpanId === null || !spans.has(parentSpanId));
  const model = longest.of.reply.model ?? longest.of.request.model;
  const task = root && placeOf(root).named.task;
  const facts = {
    environment: environment ?? 'traces',
    alias: task && task !== traceId ? task : `${root?.name ?? ''} ${traceId}`.trim(),
    tools: longest.of.request.tools,
    outcome: root?.failure === null ? ('terminated' as const) : ('failed' as const),
    ...(model ? { policy: { policyId: model, version: 0 } } : {}),
  };
  const read = withNotes(chatEpisode(longest.chat, facts, namesIn('messages')), notes);
  if (read.kind !== 'episode') return read;
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => {
    const usage = onPath.get(i)?.at(-1)?.reply.usage;
    return { ...turn, ...(usage ? { usage } : {}) };
  });
  return { ...read, episode: { ...read.episode, turns } };
}
