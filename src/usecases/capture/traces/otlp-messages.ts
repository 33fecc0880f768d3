import protobuf from 'protobufjs/light.js';

type Fields = Readonly<Record<string, { readonly type: string; readonly id: number; readonly rule?: 'repeated' }>>;
const message = (fields: Fields) => ({ fields });
const many = (type: string, id: number) => ({ type, id, rule: 'repeated' as const });
const one = (type: string, id: number) => ({ type, id });

/** The messages of opentelemetry-proto 1.x that a request of traces is made of; their fields are named as in its JSON form. */
const root = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      oneofs: {
        value: { oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'] },
      },
      ...message({
        stringValue: one('string', 1),
        boolValue: one('bool', 2),
        intValue: one('int64', 3),
        doubleValue: one('double', 4),
        arrayValue: one('ArrayValue', 5),
        kvlistValue: one('KeyValueList', 6),
        bytesValue: one('bytes', 7),
      }),
    },
    ArrayValue: message({ values: many('AnyValue', 1) }),
    KeyValueList: message({ values: many('KeyValue', 1) }),
    KeyValue: message({ key: one('string', 1), value: one('AnyValue', 2) }),
    Scope: message({ name: one('string', 1), version: one('string', 2) }),
    Resource: message({ attributes: many('KeyValue', 1) }),
    Event: message({ timeUnixNano: one('fixed64', 1), name: one('string', 2), attributes: many('KeyValue', 3) }),
    Status: message({ message: one('string', 2), code: one('int32', 3) }),
    Span: message({
      traceId: one('bytes', 1),
      spanId: one('bytes', 2),
      parentSpanId: one('bytes', 4),
      name: one('string', 5),
      kind: one('int32', 6),
      startTimeUnixNano: one('fixed64', 7),
      endTimeUnixNano: one('fixed64', 8),
      attributes: many('KeyValue', 9),
      events: many('Event', 11),
      status: one('Status', 15),
    }),
    ScopeSpans: message({ scope: one('Scope', 1), spans: many('Span', 2) }),
    ResourceSpans: message({ resource: one('Resource', 1), scopeSpans: many('ScopeSpans', 2) }),
    Request: message({ resourceSpans: many('ResourceSpans', 1) }),
    LogRecord: message({
      timeUnixNano: one('fixed64', 1),
      body: one('AnyValue', 5),
      attributes: many('KeyValue', 6),
      traceId: one('bytes', 9),
      spanId: one('bytes', 10),
      observedTimeUnixNano: one('fixed64', 11),
      eventName: one('string', 12),
    }),
    ScopeLogs: message({ scope: one('Scope', 1), logRecords: many('LogRecord', 2) }),
    ResourceLogs: message({ resource: one('Resource', 1), scopeLogs: many('ScopeLogs', 2) }),
    LogsRequest: message({ resourceLogs: many('ResourceLogs', 1) }),
    PartialSuccess: message({ rejectedSpans: one('int64', 1), errorMessage: one('string', 2) }),
    Response: message({ partialSuccess: one('PartialSuccess', 1) }),
    /** google.rpc.Status, which says why a request is refused. */
    Refusal: message({ code: one('int32', 1), message: one('string', 2) }),
  },
});

/** What a request brings. */
export type Signal = 'traces' | 'logs';
const REQUESTS: Readonly<Record<Signal, string>> = { traces: 'Request', logs: 'LogsRequest' };

/** Decodes a request to the form that its JSON has, but for bytes. @throws Error for what is none. */
export function decodeRequest(signal: Signal, bytes: Uint8Array): unknown {
  const type = root.lookupType(REQUESTS[signal]);
  return type.toObject(type.decode(bytes), { longs: String, arrays: true });
}

/** Encodes a request that is given in its JSON form, ids as bytes; for tests. */
export function encodeRequest(request: Record<string, unknown>, signal: Signal = 'traces'): Uint8Array {
  const type = root.lookupType(REQUESTS[signal]);
  return type.encode(type.fromObject(request)).finish();
}

/** Encodes the answer to a request; that to logs has the same numbers of fields. */
export function encodeResponse(response: Record<string, unknown>): Uint8Array {
  const type = root.lookupType('Response');
  return type.encode(type.fromObject(response)).finish();
}

/** Encodes why a request of traces is refused, by a code of gRPC. */
export function encodeRefusal(refusal: { readonly code: number; readonly message: string }): Uint8Array {
  const type = root.lookupType('Refusal');
  return type.encode(type.fromObject(refusal)).finish();
}

/** Decodes why a request was refused; for tests. */
export function decodeRefusal(bytes: Uint8Array): unknown {
  const type = root.lookupType('Refusal');
  return type.toObject(type.decode(bytes), { defaults: true });
}
