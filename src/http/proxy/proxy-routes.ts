import { type Logger, SILENT } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { UpstreamFailed } from '../../usecases/capture/capture-errors.ts';
import type { ForwardOptions } from '../../usecases/capture/forward-call.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import { openRefusedExtras } from '../../usecases/capture/refused-extras.ts';
import { countUnrecorded } from '../../usecases/capture/unrecorded.ts';
import type { Upstream } from '../../usecases/capture/upstream.ts';
import type { Endpoint } from '../endpoint.ts';
import { createJsonBodies } from '../json-body.ts';
import { otlpEndpoint } from '../otlp-endpoint.ts';
import { callEndpoints } from './call-endpoint.ts';
import { callsEndpoint } from './calls-endpoint.ts';
import { closeEndpoints } from './close-endpoints.ts';
import { judgeEndpoints } from './judge-endpoints.ts';
import { passEndpoints } from './pass-endpoints.ts';

export interface ProxyOptions {
  readonly capture: Capture;
  /** Null where the installation names none: then calls cannot be passed on. */
  readonly upstream: Upstream | null;
  readonly whenUnrecorded: 'fail' | 'pass';
  /** What is passed on unrecorded, as `ESPALIER_PROXY_PATHS` names it. */
  readonly paths: readonly string[];
  /** Bytes of one reply of the model server. */
  readonly replyBytes?: number;
  readonly clock?: () => number;
}

const CALLS = 256; // that are being passed on
const REPLY_BYTES = 256 * 1_048_576; // a reply of 100,000 tokens with log-probabilities takes some 30 MB

/** Returns the endpoints that stand for a model server: `/v1/proxy/…`. */
export function proxyRoutes(
  { capture, upstream, whenUnrecorded, paths, replyBytes = REPLY_BYTES, clock = Date.now }: ProxyOptions,
  {
    limits,
    metrics,
    logger = SILENT,
  }: {
    /** Bytes of one body and of all together. */
    readonly limits: { readonly bodyBytes: number; readonly ingestBytes: number };
    readonly metrics: Metrics;
    readonly logger?: Logger | undefined;
  },
): readonly Endpoint[] {
  const bodies = createJsonBodies({
    limit: limits.bodyBytes,
    together: limits.ingestBytes,
    requests: CALLS,
    full: 'too many calls are in progress',
  });
  const world: ForwardOptions = {
    capture,
    whenUnrecorded,
    replyBytes,
    refused: openRefusedExtras(clock),
    onUnrecorded: countUnrecorded(metrics, logger),
    upstream: upstream ?? NONE,
  };
  return [
    ...callEndpoints('chat.completions', world, bodies),
    ...callEndpoints('responses', world, bodies),
    ...judgeEndpoints(capture, bodies),
    ...closeEndpoints(capture, bodies),
    callsEndpoint(capture, bodies),
    otlpEndpoint('traces', capture, limits),
    otlpEndpoint('logs', capture, limits),
    ...passEndpoints(world, paths, limits),
  ];
}

/** The model server of an installation that names none. */
const NONE: Upstream = {
  shown: 'none',
  timeoutMs: 60_000,
  ask: 'none',
  hide: (text) => text,
  async send() {
    throw new UpstreamFailed(
      'unreachable',
      'this installation names no model server: start it with ESPALIER_UPSTREAM, or `espalier proxy --upstream URL`',
    );
  },
};
