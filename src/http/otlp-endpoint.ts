import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { cutText } from '../domain/text/cut-text.ts';
import { jsonLosses } from '../events/json-loss.ts';
import type { Capture } from '../usecases/capture/open-capture.ts';
import { decodeRequest, encodeRefusal, encodeResponse, type Signal } from '../usecases/capture/traces/otlp-messages.ts';
import { type ReadSpans, readLogs, readSpans } from '../usecases/capture/traces/read-spans.ts';
import { receiveSpans } from '../usecases/capture/traces/receive-spans.ts';
import { type Endpoint, endpoint, type Parsed } from './endpoint.ts';
import { createGate } from './ingest/gate.ts';
import { refusals } from './openapi.ts';
import { replyTo } from './proxy/proxy-replies.ts';
import { busy, createBodyBudget } from './receive-bodies.ts';
import { json, type Reply, refusal, refuse } from './reply.ts';

interface Sent extends ReadSpans {
  readonly form: 'json' | 'protobuf';
  /** What a reader of JSON loses of it. */
  readonly losses: readonly string[];
}

const SPANS = 10_000; // of one request; exporters send 512 at once
const REQUESTS = 32;

const SIGNALS = {
  traces: {
    path: '/v1/traces',
    summary: 'Takes traces of OpenTelemetry (OTLP over HTTP), plain or gzip, and records their calls of models as steps.',
    description:
      'Spans by the conventions of GenAI, OpenInference and Vercel’s AI SDK. Attributes `espalier.run`, `espalier.task` and `espalier.rollout` of a span or its resource say where a call belongs; else `service.name` and the id of the trace. A span that is sent again changes nothing. Refusals of protobuf are a `google.rpc.Status`.',
    body: z.looseObject({ resourceSpans: z.array(z.unknown()).optional() }),
    read: readSpans,
    rejected: 'rejectedSpans',
  },
  logs: {
    path: '/v1/logs',
    summary:
      'Takes log records of OpenTelemetry (OTLP over HTTP), plain or gzip, and records messages of models with their spans.',
    description:
      'Events whose names begin with `gen_ai.`, which some instrumentations write messages to. They belong to the span that they name; their attributes or their resource name run, task and rollout as those of spans do. Other log records are passed over.',
    body: z.looseObject({ resourceLogs: z.array(z.unknown()).optional() }),
    read: readLogs,
    rejected: 'rejectedLogRecords',
  },
} as const;

/** Makes the endpoint that takes a signal by the protocol of OpenTelemetry over HTTP. */
export function otlpEndpoint(
  signal: Signal,
  capture: Capture,
  limits: { readonly bodyBytes: number; readonly ingestBytes: number },
): Endpoint {
  const { path, summary, description, body, rejected: counted } = SIGNALS[signal];
  return endpoint<unknown, unknown, Sent>({
    method: 'POST',
    path,
    needs: ['ingest'],
    summary,
    description,
    body: {
      // of OTLP every field may be left out
      content: { 'application/x-protobuf': BINARY, 'application/json': body },
      limit: limits.bodyBytes,
      budget: createBodyBudget(limits.ingestBytes),
      gate: createGate(REQUESTS),
      full: busy(`too many requests of ${signal} are in progress`),
      refuse: (headers) =>
        formOf(headers) ? undefined : refuse(415, 'the body is no OTLP', 'send application/x-protobuf or application/json'),
      parse: (bytes, headers) => parse(signal, bytes, headers),
    },
    answers: {
      200: {
        description:
          'The spans are on record, and become steps in the order of their times; but for those that `partialSuccess` counts as rejected.',
        content: { 'application/x-protobuf': BINARY, 'application/json': answered(counted) },
      },
      ...refusals({
        400: `The body is no request of ${signal}.`,
        413: 'The body, or the number of spans, is over its limit.',
        415: 'Another Content-Type or Content-Encoding.',
        429: 'Too many requests, or too many bytes of bodies: send again after Retry-After seconds.',
        503: 'The record cannot be appended to, or is too far behind: send it again.',
      }),
    },
    refusal: asStatus,
    async handle({ body: { form, spans, unread, losses }, principal }) {
      try {
        const { rejected, message } = await receiveSpans(capture, spans, principal);
        const lost = unread === 0 ? '' : `${unread} spans have no id, or no time`;
        const errorMessage = cutText([lost, ...losses, message].filter((text) => text !== '').join('. '), 4_000);
        const value = (name: string) =>
          errorMessage === '' ? {} : { partialSuccess: { [name]: String(rejected + unread), errorMessage } };
        if (form === 'json') return json(200, value(counted));
        const encoded = encodeResponse(value('rejectedSpans')); // as it is named there
        return { status: 200, headers: { 'content-type': 'application/x-protobuf' }, body: encoded };
      } catch (error) {
        return replyTo(error);
      }
    },
  });
}

const BINARY = { type: 'string', format: 'binary', description: 'Messages of opentelemetry-proto.' } as const;

const answered = (counted: string) =>
  z.object({
    partialSuccess: z
      .object({
        [counted]: z.string().describe('How many are not recorded.'),
        errorMessage: z.string().describe('Why, or what recorded calls lack for training.'),
      })
      .optional()
      .describe('Left out where there is nothing to say.'),
  });

function formOf(headers: IncomingHttpHeaders): Sent['form'] | undefined {
  const type = (headers['content-type'] ?? '').toLowerCase().split(';')[0]?.trim();
  return type === 'application/x-protobuf' ? 'protobuf' : type === 'application/json' ? 'json' : undefined;
}

function parse(signal: Signal, bytes: Buffer, headers: IncomingHttpHeaders): Parsed<Sent> {
  const form = formOf(headers) ?? 'json';
  try {
    const text = form === 'json' ? bytes.toString('utf8') : null;
    const request: unknown = text === null ? decodeRequest(signal, bytes) : JSON.parse(text);
    const read = SIGNALS[signal].read(request);
    const isTime = (key: string) => key.endsWith('UnixNano'); // nobody needs its last digits
    const losses = text === null ? [] : jsonLosses(text, request, isTime);
    if (read.spans.length <= SPANS) return { kind: 'parsed', value: { form, losses, ...read } };
    return {
      kind: 'refused',
      reply: refuse(413, `more than ${SPANS} of ${signal} in one request`, 'send them in smaller batches'),
    };
  } catch (error) {
    const why = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'it is unreadable';
    const message = `the body is no request of ${signal}: ${cutText(why, 200)}`;
    const type = signal === 'traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest';
    return { kind: 'refused', reply: refuse(400, message, `send an ${type} of OTLP`) };
  }
}

/** Codes of gRPC, by which exporters decide whether to send again. */
const GRPC: Readonly<Record<number, number>> = { 401: 16, 403: 7, 408: 14, 413: 3, 415: 3, 429: 8, 503: 14 };

/** OTLP answers in the form that was sent: a refusal of protobuf is a `google.rpc.Status`. */
function asStatus(refused: Reply, headers: IncomingHttpHeaders): Reply {
  if (formOf(headers) !== 'protobuf' || typeof refused.body !== 'string') return refused;
  const { error } = refusal.parse(JSON.parse(refused.body));
  const code = GRPC[refused.status] ?? (refused.status < 500 ? 3 : 13);
  const body = encodeRefusal({ code, message: `${error.message}; ${error.remedy}` });
  return { ...refused, headers: { ...refused.headers, 'content-type': 'application/x-protobuf' }, body };
}
