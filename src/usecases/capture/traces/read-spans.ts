import { jsonText, parseJsonText } from '../../../events/json-text.ts';
import { isObject, type Json, list, string } from '../../../policies/openai/read-messages.ts';
import { OWN_SCOPE } from '../../../runtime/tracing.ts';

export type Attributes = ReadonlyMap<string, unknown>;

/**
 * A span of a trace, its ids in hexadecimal and its times in ms since 1970; or a log record of one, which some instrumentations write
 * messages to: the one event of a span that has nothing else.
 */
export interface Span {
  readonly isLog: boolean;
  /** How many equal log records came before it in its request; absent for none. */
  readonly equalsBefore?: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Null for the root of its trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly failure: string | null;
  readonly attributes: Attributes;
  readonly resource: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
}

/** What a request of OTLP held; `unread` counts spans without ids or times. */
export interface ReadSpans {
  readonly spans: readonly Span[];
  readonly unread: number;
}

/** Reads the spans of a request of traces, as JSON or decoded. @throws Error that says why it is none. */
export function readSpans(request: unknown): ReadSpans {
  return readEach(request, ['resourceSpans', 'scopeSpans', 'spans'], spanOf);
}

/** Reads the log records of a request of logs that belong to a span; others are none of ours. @throws Error that says why it is none. */
export function readLogs(request: unknown): ReadSpans {
  const { spans } = readEach(request, ['resourceLogs', 'scopeLogs', 'logRecords'], logOf);
  return { spans: numbered(spans), unread: 0 };
}

/** Numbers equal log records, which are known by all that they say: one that is sent again comes with those of its request. */
function numbered(logs: readonly Span[]): readonly Span[] {
  const counts = new Map<string, number>();
  return logs.map((log) => {
    const text = textOfSpan(log);
    const before = counts.get(text) ?? 0;
    counts.set(text, before + 1);
    return before === 0 ? log : { ...log, equalsBefore: before };
  });
}

function readEach(
  request: unknown,
  [resources, scopes, items]: readonly [string, string, string],
  read: (given: Json, resource: Attributes) => Span | null,
): ReadSpans {
  if (!isObject(request)) throw new Error('the body is no object');
  if (request[resources] !== undefined && !Array.isArray(request[resources])) throw new Error(`${resources} is no list`);
  const spans: Span[] = [];
  let unread = 0;
  for (const each of list(request[resources]).filter(isObject)) {
    const resource = attributesOf(isObject(each.resource) ? each.resource.attributes : []);
    for (const scope of list(each[scopes]).filter(isObject)) {
      if (isObject(scope.scope) && scope.scope.name === OWN_SCOPE) continue; // the servers' own work is no agent's
      for (const given of list(scope[items])) {
        const span = isObject(given) ? read(given, resource) : null;
        if (span) spans.push(span);
        else unread++;
      }
    }
  }
  return { spans, unread };
}

function logOf(given: Json, resource: Attributes): Span | null {
  const [traceId, spanId] = [idOf(given.traceId, 32), idOf(given.spanId, 16)];
  const at = msOf(given.timeUnixNano) ?? msOf(given.observedTimeUnixNano);
  if (traceId === null || spanId === null || at === null) return null;
  const attributes = attributesOf(given.attributes);
  const body = plainOf(given.body);
  const name = string(given.eventName) || String(attributes.get('event.name') ?? '');
  const held = new Map([...attributes, ...(isObject(body) ? Object.entries(body) : [])]);
  return {
    ...{ isLog: true, traceId, spanId, parentSpanId: null, name, startMs: at, endMs: at, failure: null },
    ...{ attributes: new Map(), resource, events: [{ name, attributes: held }] },
  };
}

function spanOf(given: Json, resource: Attributes): Span | null {
  const [traceId, spanId] = [idOf(given.traceId, 32), idOf(given.spanId, 16)];
  const [startMs, endMs] = [msOf(given.startTimeUnixNano), msOf(given.endTimeUnixNano)];
  if (traceId === null || spanId === null || startMs === null || endMs === null || endMs < startMs) return null;
  const status = isObject(given.status) ? given.status : {};
  const isError = status.code === 2 || status.code === 'STATUS_CODE_ERROR';
  return {
    isLog: false,
    traceId,
    spanId,
    parentSpanId: idOf(given.parentSpanId, 16),
    name: string(given.name) ?? '',
    startMs,
    endMs,
    failure: isError ? (string(status.message) ?? '') : null,
    attributes: attributesOf(given.attributes),
    resource,
    events: list(given.events)
      .filter(isObject)
      .map((event) => ({ name: string(event.name) ?? '', attributes: attributesOf(event.attributes) })),
  };
}

function attributesOf(given: unknown): Attributes {
  return new Map(list(given).flatMap((each) => (isObject(each) ? [[String(each.key), plainOf(each.value)] as const] : [])));
}

function plainOf(given: unknown): unknown {
  if (!isObject(given)) return null;
  if (given.intValue !== undefined)
    return Number.isSafeInteger(Number(given.intValue)) ? Number(given.intValue) : String(given.intValue);
  if (isObject(given.arrayValue) || isObject(given.kvlistValue)) return parseJsonText(jsonOf(given));
  if (given.bytesValue instanceof Uint8Array) return Buffer.from(given.bytesValue).toString('base64');
  return given.stringValue ?? given.boolValue ?? given.doubleValue ?? given.bytesValue ?? null;
}

/** Writes a value as JSON that keeps what its numbers were: all digits of an integer, and a double as one. */
function jsonOf(given: unknown): string {
  if (!isObject(given)) return 'null';
  const { intValue, doubleValue, arrayValue, kvlistValue } = given;
  if (intValue !== undefined && /^-?\d+$/.test(String(intValue))) return String(BigInt(String(intValue)));
  if (typeof doubleValue === 'number' && Number.isFinite(doubleValue)) {
    const text = Object.is(doubleValue, -0) ? '-0' : String(doubleValue);
    return /^-?\d+$/.test(text) ? `${text}.0` : text;
  }
  if (isObject(arrayValue)) return `[${list(arrayValue.values).map(jsonOf).join(',')}]`;
  if (!isObject(kvlistValue)) return JSON.stringify(plainOf(given));
  const members = list(kvlistValue.values).filter(isObject);
  return `{${members.map(({ key, value }) => `${JSON.stringify(String(key))}:${jsonOf(value)}`).join(',')}}`;
}

/** Ids are bytes, in JSON hexadecimal; one of zeros alone is none. */
function idOf(given: unknown, digits: number): string | null {
  const text = given instanceof Uint8Array ? Buffer.from(given).toString('hex') : String(given ?? '').toLowerCase();
  return text.length === digits && /^[0-9a-f]+$/.test(text) && !/^0+$/.test(text) ? text : null;
}

function msOf(given: unknown): number | null {
  if (!/^\d{1,20}$/.test(String(given))) return null;
  const ms = Number(BigInt(String(given)) / 1_000n) / 1_000;
  return ms > 0 && ms < 8.64e15 ? ms : null;
}

/** A span as `textOfSpan` writes it. */
type Written = Omit<Span, 'attributes' | 'resource' | 'events'> & {
  readonly attributes: object;
  readonly resource: object;
  readonly events: readonly { readonly name: string; readonly attributes: object }[];
};

/** Writes a span with all its attributes, as it is recorded. */
export function textOfSpan(span: Span): string {
  const { attributes, resource, events } = span;
  return jsonText({
    ...span,
    attributes: Object.fromEntries(attributes),
    resource: Object.fromEntries(resource),
    events: events.map((event) => ({ name: event.name, attributes: Object.fromEntries(event.attributes) })),
  });
}

/** Reads a span that was recorded; null for a placeholder of what is forgotten. */
export function spanOfText(text: string): Span | null {
  if (text === '') return null;
  const span = parseJsonText(text) as Written;
  const of = (given: object): Attributes => new Map(Object.entries(given));
  const events = span.events.map(({ name, attributes }) => ({ name, attributes: of(attributes) }));
  return { ...span, attributes: of(span.attributes), resource: of(span.resource), events };
}
