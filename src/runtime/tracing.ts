import type * as Api from '@opentelemetry/api';
import type { Tracing } from './config.ts';
import type { Metrics } from './metrics.ts';

/** What a span is of, by OpenTelemetry's words. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  /** The header `traceparent` of who asks for the work; left out or unreadable, the span belongs to the one around it. */
  readonly parent?: string | undefined;
  /** Headers `traceparent` of what the work follows from. */
  readonly links?: readonly string[];
}

/** A span that has begun. One that is never ended is not exported. */
export interface OpenSpan {
  /** Its header `traceparent`, for what follows from it; null where it is not sampled or nothing is traced. */
  readonly traceparent: string | null;
  set(attributes: SpanAttributes): void;
  /** Does work whose spans belong to this one. */
  within<T>(work: () => T): T;
  /** Ends it, with what failed if something did. */
  end(error?: unknown): void;
}

const LINKS = 128; // OpenTelemetry's own limit of a span
/** The instrumentation scope of this program's own spans, which it never records as an agent's. */
export const OWN_SCOPE = '@espalier/server';
const HEADER = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

interface Tracer {
  readonly api: typeof Api;
  readonly tracer: Api.Tracer;
  readonly close: () => Promise<void>;
}
// As OpenTelemetry's own state one of the process or thread, whichever part of it asks; several platforms of a process share it.
let active: (Tracer & { users: number }) | null = null;
let starting: Promise<Tracer> | null = null;

const NONE: OpenSpan = { traceparent: null, set: () => undefined, within: (work) => work(), end: () => undefined };

/**
 * Starts to export spans, as an operator set it; loads nothing where tracing is off. `close` sends what waits, for some seconds at
 * most. @param name of the process, where the settings name no service.
 */
export async function startTracing(
  settings: Tracing | null,
  { name, version, metrics }: { readonly name: string; readonly version: string; readonly metrics: Metrics },
): Promise<{ close(): Promise<void> }> {
  if (settings === null) return { close: async () => undefined };
  starting ??= import('./tracing-sdk.ts').then(({ openTracer }) =>
    openTracer(settings, { scope: OWN_SCOPE, name, version, metrics }),
  );
  const opened = await starting;
  active ??= { ...opened, users: 0 };
  active.users++;
  return {
    async close() {
      if (active === null || --active.users > 0) return;
      const { close } = active;
      [active, starting] = [null, null];
      await close();
    },
  };
}

/** Whether spans are exported. */
export function isTracing(): boolean {
  return active !== null;
}

/** Does work in a span, which fails with it. */
export async function inSpan<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  if (active === null) return work(NONE);
  const span = startSpan(name, options);
  try {
    const result = await span.within(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Begins a span, for work that does not end where it began. */
export function startSpan(name: string, { kind = 'internal', attributes = {}, parent, links = [] }: SpanOptions): OpenSpan {
  if (active === null) return NONE;
  const { api, tracer } = active;
  const { context, trace } = api;
  const remote = contextOf(parent);
  const around = remote ? trace.setSpanContext(context.active(), remote) : context.active();
  const span = tracer.startSpan(
    name,
    {
      kind: api.SpanKind[KINDS[kind]],
      attributes: { ...attributes },
      links: [...new Set(links)].slice(0, LINKS).flatMap((header) => {
        const linked = contextOf(header);
        return linked ? [{ context: linked }] : [];
      }),
    },
    around,
  );
  const within = trace.setSpan(around, span);
  return {
    traceparent: span.isRecording() ? headerOf(span.spanContext()) : null,
    set: (more) => void span.setAttributes({ ...more }),
    within: (work) => context.with(within, work),
    end(error) {
      if (error !== undefined) {
        const message = error instanceof Error ? error.message : String(error);
        span.setStatus({ code: api.SpanStatusCode.ERROR, message });
      }
      span.end();
    },
  };
}

/** Returns the header `traceparent` for requests that the present work makes; none where nothing is traced. */
export function traceHeaders(): { readonly traceparent?: string } {
  if (active === null) return {};
  const span = active.api.trace.getSpanContext(active.api.context.active());
  return span ? { traceparent: headerOf(span) } : {};
}

const KINDS = { internal: 'INTERNAL', server: 'SERVER', client: 'CLIENT', producer: 'PRODUCER', consumer: 'CONSUMER' } as const;

function headerOf({ traceId, spanId, traceFlags }: Api.SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function contextOf(header: string | undefined): Api.SpanContext | null {
  const [, traceId, spanId, flags] = HEADER.exec(header ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true };
}
