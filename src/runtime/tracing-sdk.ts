import { setTimeout as delay } from 'node:timers/promises';
import * as api from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { Tracing } from './config.ts';
import type { Metrics } from './metrics.ts';

const QUEUE = 2_048; // spans that wait to be sent, of about a kilobyte each; more are dropped
const CLOSE_MS = 2_000; // a collector that is away holds up no end
const OK = 0; // of ExportResultCode

interface Naming {
  readonly scope: string;
  readonly name: string;
  readonly version: string;
  readonly metrics: Metrics;
}

/** Opens what samples, batches and exports spans by OTLP; the only file that loads OpenTelemetry's SDK. */
export function openTracer(settings: Tracing, { scope, name, version, metrics }: Naming) {
  const exported = metrics.counter('trace_spans_exported_total', 'Spans that the collector of traces took');
  const dropped = metrics.counter('trace_spans_dropped_total', 'Spans that were not exported', ['reason']);
  let waiting = 0;
  const otlp = new OTLPTraceExporter({ url: settings.endpoint, headers: { ...settings.headers } });
  const exporter: SpanExporter = {
    export(spans, done) {
      otlp.export(spans, (result) => {
        waiting -= spans.length;
        if (result.code === OK) exported.add(spans.length, {});
        else dropped.add(spans.length, { reason: 'export' });
        done(result);
      });
    },
    shutdown: () => otlp.shutdown(),
  };
  const batches = new BatchSpanProcessor(exporter, { maxQueueSize: QUEUE });
  // The batches would drop what is over their queue without a word.
  const processor: SpanProcessor = {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & api.TraceFlags.SAMPLED) === 0) return;
      if (waiting >= QUEUE) return dropped.add(1, { reason: 'queue' });
      waiting++;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.name': settings.service ?? `espalier ${name}`,
      'service.version': version,
      ...settings.resource,
    }),
    sampler: samplerOf(settings),
    spanProcessors: [processor],
  });
  provider.register({ propagator: null });
  return {
    api,
    tracer: provider.getTracer(scope, version),
    async close() {
      const sent = provider.shutdown().catch(() => undefined); // counted as dropped
      await Promise.race([sent, delay(CLOSE_MS, undefined, { ref: false })]);
      api.trace.disable();
      api.context.disable();
    },
  };
}

function samplerOf({ sampler, ratio }: Tracing): Sampler {
  const root = {
    on: () => new AlwaysOnSampler(),
    off: () => new AlwaysOffSampler(),
    ratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  switch (sampler) {
    case 'always_on':
      return root.on();
    case 'always_off':
      return root.off();
    case 'traceidratio':
      return root.ratio();
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: root.on() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: root.off() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: root.ratio() });
    default:
      return sampler satisfies never;
  }
}
