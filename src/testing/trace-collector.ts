import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs/light.js';

/** A span as a collector of OpenTelemetry receives it, its ids in hexadecimal. */
export interface CollectedSpan {
  readonly service: string;
  readonly scope: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** A collector that keeps what is exported to it by OTLP over HTTP, or answers every export with a status of its own. */
export async function startTraceCollector() {
  const spans: CollectedSpan[] = [];
  const state = { status: 200 };
  const server = createServer((req, res) => {
    void buffer(req).then((body) => {
      const bytes = req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      if (state.status === 200) for (const span of decode(bytes)) spans.push(span);
      res.writeHead(state.status, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: spans as readonly CollectedSpan[],
    answer(status: number) {
      state.status = status;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const field = (id: number, type: string) => ({ id, type });
const fields = (id: number, type: string) => ({ id, type, rule: 'repeated' as const });
const messages = protobuf.Root.fromJSON({
  nested: {
    Value: { fields: { stringValue: field(1, 'string'), boolValue: field(2, 'bool'), intValue: field(3, 'int64') } },
    Attribute: { fields: { key: field(1, 'string'), value: field(2, 'Value') } },
    Resource: { fields: { attributes: fields(1, 'Attribute') } },
    Link: { fields: { traceId: field(1, 'bytes'), spanId: field(2, 'bytes') } },
    Status: { fields: { code: field(3, 'int32') } },
    Span: {
      fields: {
        traceId: field(1, 'bytes'),
        spanId: field(2, 'bytes'),
        parentSpanId: field(4, 'bytes'),
        name: field(5, 'string'),
        attributes: fields(9, 'Attribute'),
        links: fields(13, 'Link'),
        status: field(15, 'Status'),
      },
    },
    Scope: { fields: { name: field(1, 'string') } },
    ScopeSpans: { fields: { scope: field(1, 'Scope'), spans: fields(2, 'Span') } },
    ResourceSpans: { fields: { resource: field(1, 'Resource'), scopeSpans: fields(2, 'ScopeSpans') } },
    Request: { fields: { resourceSpans: fields(1, 'ResourceSpans') } },
  },
});

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface Request {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly {
        readonly traceId: Uint8Array;
        readonly spanId: Uint8Array;
        readonly parentSpanId: Uint8Array;
        readonly name: string;
        readonly attributes: readonly Attribute[];
        readonly links: readonly { readonly traceId: Uint8Array; readonly spanId: Uint8Array }[];
        readonly status?: { readonly code: number };
      }[];
    }[];
  }[];
}

function decode(bytes: Uint8Array): readonly CollectedSpan[] {
  const type = messages.lookupType('Request');
  const request = type.toObject(type.decode(bytes), { longs: Number, arrays: true, defaults: false }) as Request;
  return request.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        scope: scope.name,
        name: span.name,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        links: span.links.map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
        attributes: valuesOf(span.attributes),
        isError: span.status?.code === 2,
      })),
    ),
  );
}

function valuesOf(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function hex(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('hex');
}
